//go:build ci

package generators

import (
	"context"
	"net/http"
	"testing"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/examples/generators/ogenapi"
	"github.com/footfall-dev/footfall/examples/generators/shoppb"
	"github.com/footfall-dev/footfall/footfalltest"
)

func TestValuesOfSeveralWildcards(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"ogen", "oapi-codegen"} {
		tracker := footfalltest.New(t)
		handler := generators[name].tracked(t, tracker.Tracker, footfall.Rule{Route: footfall.AnyRoute, PathProps: []string{"id", "shelf", "other"}})
		assert.Equal(t, http.StatusOK, ask(handler, "GET", "/shelves/top/products/a%2Fb", "").Code)
		want := event("get_shelves_shelf_products_id", "/shelves/top/products/a%2Fb", map[string]any{"id": "a/b", "shelf": "top", "other": ""})
		assert.Equal(t, []footfalltest.Event{want}, told(tracker), name)
	}
}

// The reason for Wrap: ogen and grpc-gateway do not note the route in the request.
func TestMiddlewareAloneMakesNoEventsForAnyRouteOfOwnRouters(t *testing.T) {
	t.Parallel()
	mux := runtime.NewServeMux()
	require.NoError(t, shoppb.RegisterShopHandlerServer(t.Context(), mux, gatewayShop{}))
	for name, router := range map[string]http.Handler{"ogen": newOgen(t), "grpc-gateway": mux} {
		tracker := footfalltest.New(t)
		handler := tracker.Middleware(
			footfall.Rule{Route: "GET /products/{id}", Event: "product_viewed", PathProps: []string{"id"}}, footfall.Rule{Route: footfall.AnyRoute},
		)(router)
		ask(handler, "GET", "/products/kettle", "")
		ask(handler, "POST", "/orders", `{"id":"kettle"}`)
		assert.Equal(t, []footfalltest.Event{event("product_viewed", "/products/kettle", map[string]any{"id": "kettle"})}, told(tracker), name)
	}
}

func TestTrackRouteHidesAValueOfThePath(t *testing.T) {
	t.Parallel()
	server, err := ogenapi.NewServer(secretShop{})
	require.NoError(t, err)
	tracker := footfalltest.New(t, func(c *footfall.Config) { c.Page = footfall.PageRoute })
	ask(serveOgen(tracker.Tracker, server), "GET", "/products/kettle", "")
	require.Len(t, tracker.Events(), 1)
	assert.Equal(t, "https://shop.example.com/products/%7Bid%7D", tracker.Events()[0].URL)
}

type secretShop struct{ ogenShop }

func (secretShop) GetProduct(ctx context.Context, in ogenapi.GetProductParams) (ogenapi.GetProductRes, error) {
	err := footfall.TrackRoute(ctx, "GET /products/{id}", "product_looked_up")
	return &ogenapi.Product{ID: in.ID}, err
}
