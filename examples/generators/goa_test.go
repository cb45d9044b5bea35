//go:build ci

package generators

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	goahttp "goa.design/goa/v3/http"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/footfallchi"
	"github.com/footfall-dev/footfall/examples/generators/gen/http/shop/server"
	"github.com/footfall-dev/footfall/examples/generators/gen/shop"
	"github.com/footfall-dev/footfall/footfalltest"
)

// The reason for footfallchi: goa notes the route in the request, but not the values of its wildcards.
func TestMiddlewareAloneHasNoPathPropsOfGoa(t *testing.T) {
	t.Parallel()
	mux := goahttp.NewMuxer()
	server.New(shop.NewEndpoints(goaShop{}), mux, goahttp.RequestDecoder, goahttp.ResponseEncoder, nil, nil).Mount(mux)
	tracker := footfalltest.New(t)
	every := footfall.Rule{Route: footfall.AnyRoute, PathProps: []string{"id"}}
	named := footfall.Rule{Route: "GET /products/{id}", Event: "product_viewed", PathProps: []string{"id"}}
	ask(tracker.Middleware(every)(mux), "GET", "/products/kettle", "")
	ask(tracker.Middleware(named)(mux), "GET", "/products/kettle", "")
	empty := map[string]any{"id": ""}
	assert.Equal(t, []footfalltest.Event{event("get_products_id", "/products/kettle", empty), event("product_viewed", "/products/kettle", empty)}, told(tracker))
}

func TestTheRestOfAPathInGoa(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	mux := goahttp.NewMuxer()
	mux.Use(footfallchi.Middleware(tracker.Tracker, footfall.Rule{Route: "GET /files/*", Event: "downloaded", PathProps: []string{"*"}}, footfall.Rule{Route: footfall.AnyRoute}))
	for _, pattern := range []string{"/files/{*path}", "/docs/{*page}"} {
		mux.Handle("GET", pattern, func(http.ResponseWriter, *http.Request) {})
	}
	for _, path := range []string{"/files/a/b.txt", "/docs/a/b", "/docs/c"} {
		ask(mux, "GET", path, "")
	}
	assert.Equal(t, []footfalltest.Event{
		event("downloaded", "/files/a/b.txt", map[string]any{"*": "a/b.txt"}), event("get_docs_any", "/docs/a/b", nil), event("get_docs_any", "/docs/c", nil),
	}, told(tracker))
}
