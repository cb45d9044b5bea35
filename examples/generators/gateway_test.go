//go:build ci

package generators

import (
	"context"
	"net"
	"net/http"
	"testing"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/examples/generators/shoppb"
	"github.com/footfall-dev/footfall/footfalltest"
)

// The gateway has the route, and a gRPC server behind it neither the tracker nor the page.
func TestAServerBehindTheGatewayHasNoTracker(t *testing.T) {
	t.Parallel()
	listener := bufconn.Listen(1 << 16)
	behind := grpc.NewServer()
	tracked := make(chan error, 1)
	shoppb.RegisterShopServer(behind, trackingShop{tracked: tracked})
	go behind.Serve(listener)
	defer behind.Stop()
	conn, err := grpc.NewClient("passthrough:", grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithContextDialer(
		func(context.Context, string) (net.Conn, error) { return listener.Dial() }))
	require.NoError(t, err)
	defer conn.Close()
	mux := runtime.NewServeMux(runtime.WithMiddlewares(noteRoute))
	require.NoError(t, shoppb.RegisterShopHandler(t.Context(), mux, conn))
	tracker := footfalltest.New(t)
	handler := countGateway(tracker.Tracker, mux, footfall.Rule{Route: footfall.AnyRoute})
	assert.Equal(t, http.StatusOK, ask(handler, "GET", "/products/kettle", "").Code)
	assert.ErrorIs(t, <-tracked, footfall.ErrNoTracker)
	assert.Equal(t, []string{"get_products_id"}, tracker.Names())
}

type trackingShop struct {
	gatewayShop
	tracked chan error
}

func (s trackingShop) GetProduct(ctx context.Context, in *shoppb.Product) (*shoppb.Product, error) {
	s.tracked <- footfall.Track(ctx, "stock_checked")
	return in, nil
}

func TestTemplatesOfTheGateway(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	mux := runtime.NewServeMux(runtime.WithMiddlewares(noteRoute))
	for _, template := range []string{"/v1/{name=shelves/*}/books", "/v1/{name=shops/*}", "/v1/{name=files/**}", "/v1/books/{id}:lend"} {
		require.NoError(t, mux.HandlePath("GET", template, func(http.ResponseWriter, *http.Request, map[string]string) {}))
	}
	handler := countGateway(tracker.Tracker, mux, footfall.Rule{Route: footfall.AnyRoute, PathProps: []string{"name"}},
		footfall.Rule{Route: "GET /v1/{name=shops/*}", Event: "shop_viewed"})
	for _, path := range []string{"/v1/shelves/7/books", "/v1/shelves/8/books", "/v1/shops/7", "/v1/files/a/b", "/v1/books/7:lend"} {
		ask(handler, "GET", path, "")
	}
	named := func(name, path, value string) footfalltest.Event {
		return event(name, path, map[string]any{"name": value})
	}
	assert.Equal(t, []footfalltest.Event{
		named("get_v1_name_shelves_books", "/v1/shelves/7/books", "shelves/7"), named("get_v1_name_shelves_books", "/v1/shelves/8/books", "shelves/8"),
		event("shop_viewed", "/v1/shops/7", nil), named("get_v1_name_files", "/v1/files/a/b", "files/a/b"), named("get_v1_books_id_lend", "/v1/books/7:lend", ""),
	}, told(tracker))
	rule := footfall.Rule{Route: "GET /v1/{name=shops/*}", PathProps: []string{"name"}}
	assert.Error(t, tracker.CheckRoutes([]string{rule.Route}, rule), "the wildcard of a rule has no slash")
}
