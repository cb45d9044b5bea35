//go:build ci

package generators

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/go-chi/chi/v5"
	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	goahttp "goa.design/goa/v3/http"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/footfallchi"
	"github.com/footfall-dev/footfall/examples/generators/gen/http/shop/server"
	"github.com/footfall-dev/footfall/examples/generators/gen/shop"
	"github.com/footfall-dev/footfall/examples/generators/oapi"
	"github.com/footfall-dev/footfall/examples/generators/ogenapi"
	"github.com/footfall-dev/footfall/examples/generators/shoppb"
	"github.com/footfall-dev/footfall/footfalltest"
)

// generator is a server of the shop.
type generator struct {
	plain   func(*testing.T) http.Handler
	tracked func(*testing.T, *footfall.Tracker, ...footfall.Rule) http.Handler
	invalid int  // the status of an order that the generated code refuses
	method  int  // the status of a request with a method that no route has
	knows   bool // Track in a handler knows the route
	hides   bool // CheckRules cannot find out which routes there are
}

var generators = map[string]generator{
	"huma": {
		plain: func(*testing.T) http.Handler {
			mux := http.NewServeMux()
			register(humago.New(mux, huma.DefaultConfig("Shop", "1")))
			return mux
		},
		tracked: func(_ *testing.T, tracker *footfall.Tracker, rules ...footfall.Rule) http.Handler {
			return serveHuma(tracker, rules...)
		},
		invalid: http.StatusUnprocessableEntity, method: http.StatusMethodNotAllowed, knows: true,
	},
	"huma with chi": {
		plain: func(*testing.T) http.Handler {
			router := chi.NewRouter()
			register(humachi.New(router, huma.DefaultConfig("Shop", "1")))
			return router
		},
		tracked: func(_ *testing.T, tracker *footfall.Tracker, rules ...footfall.Rule) http.Handler {
			return serveHumaWithChi(tracker, rules...)
		},
		invalid: http.StatusUnprocessableEntity, method: http.StatusMethodNotAllowed,
	},
	"oapi-codegen": {
		plain: func(*testing.T) http.Handler { return oapi.Handler(oapi.NewStrictHandler(strictShop{}, nil)) },
		tracked: func(_ *testing.T, tracker *footfall.Tracker, rules ...footfall.Rule) http.Handler {
			return serveStrict(tracker, strictShop{}, rules...)
		},
		invalid: http.StatusBadRequest, method: http.StatusMethodNotAllowed, knows: true,
	},
	"ogen": {
		plain: func(t *testing.T) http.Handler { return newOgen(t) },
		tracked: func(t *testing.T, tracker *footfall.Tracker, rules ...footfall.Rule) http.Handler {
			return serveOgen(tracker, newOgen(t), rules...)
		},
		invalid: http.StatusBadRequest, method: http.StatusMethodNotAllowed, hides: true,
	},
	"goa": {
		plain: func(*testing.T) http.Handler {
			mux := goahttp.NewMuxer()
			server.New(shop.NewEndpoints(goaShop{}), mux, goahttp.RequestDecoder, goahttp.ResponseEncoder, nil, nil).Mount(mux)
			return mux
		},
		tracked: func(_ *testing.T, tracker *footfall.Tracker, rules ...footfall.Rule) http.Handler {
			return serveGoa(tracker, goaShop{}, rules...)
		},
		invalid: http.StatusBadRequest, method: http.StatusMethodNotAllowed,
	},
	"grpc-gateway": {
		plain: func(t *testing.T) http.Handler {
			mux := runtime.NewServeMux()
			require.NoError(t, shoppb.RegisterShopHandlerServer(t.Context(), mux, gatewayShop{}))
			return mux
		},
		tracked: func(t *testing.T, tracker *footfall.Tracker, rules ...footfall.Rule) http.Handler {
			handler, err := serveGateway(t.Context(), tracker, gatewayShop{}, rules...)
			require.NoError(t, err)
			return handler
		},
		invalid: http.StatusBadRequest, method: http.StatusNotImplemented, hides: true,
	},
}

func newOgen(t *testing.T) *ogenapi.Server {
	t.Helper()
	server, err := ogenapi.NewServer(ogenShop{})
	require.NoError(t, err)
	return server
}

// eachGenerator runs a test with each generator whose routes have paths. Those of twirp have none.
func eachGenerator(t *testing.T, test func(*testing.T, generator)) {
	t.Helper()
	t.Parallel()
	for name, g := range generators {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, g)
		})
	}
}

// ask returns the answer to a request with a JSON body, which may be empty.
func ask(handler http.Handler, method, path, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	r := httptest.NewRequest(method, "https://shop.example.com"+path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	handler.ServeHTTP(w, r)
	return w
}

// told are an event's name, page and props, without those of Track in the handler.
func told(tracker *footfalltest.Tracker) (events []footfalltest.Event) {
	for _, e := range tracker.Events() {
		if e.Name != "stock_checked" {
			events = append(events, footfalltest.Event{Name: e.Name, URL: e.URL, Props: e.Props})
		}
	}
	return events
}

func event(name, path string, props map[string]any) footfalltest.Event {
	return footfalltest.Event{Name: name, URL: "https://shop.example.com" + path, Props: props}
}

func TestAnyRouteHasOneNameForEachOperation(t *testing.T) {
	eachGenerator(t, func(t *testing.T, g generator) {
		tracker := footfalltest.New(t)
		handler := g.tracked(t, tracker.Tracker, footfall.Rule{Route: footfall.AnyRoute, StatusProp: "status", PathProps: []string{"id"}})
		var want []footfalltest.Event
		for id, status := range map[string]float64{"kettle": 200, "two%20words": 200, "missing": 404, "broken": 500} {
			assert.EqualValues(t, status, ask(handler, "GET", "/products/"+id, "").Code, id)
			want = append(want, event("get_products_id", "/products/"+id, map[string]any{"status": status, "id": strings.ReplaceAll(id, "%20", " ")}))
		}
		for order, status := range map[string]int{`{"id":"kettle"}`: 200, `{"id":"broken"}`: 500, `{"id":7}`: g.invalid} {
			assert.Equal(t, status, ask(handler, "POST", "/orders", order).Code, order)
			want = append(want, event("post_orders", "/orders", map[string]any{"status": float64(status), "id": ""}))
		}
		assert.Equal(t, http.StatusNotFound, ask(handler, "GET", "/nowhere", "").Code)
		assert.Equal(t, http.StatusNotFound, ask(handler, "GET", "/products/kettle/more", "").Code)
		assert.Equal(t, g.method, ask(handler, "DELETE", "/orders", "").Code)
		assert.ElementsMatch(t, want, told(tracker))
	})
}

func TestARuleNamesARouteOfAGenerator(t *testing.T) {
	eachGenerator(t, func(t *testing.T, g generator) {
		tracker := footfalltest.New(t)
		handler := g.tracked(t, tracker.Tracker,
			footfall.Rule{Route: "GET /products/{id}", Event: "product_viewed", Status: footfall.Success, PathProps: []string{"id"}},
			footfall.Rule{Route: "POST /orders", Event: "order_failed", Status: footfall.Failure},
			footfall.Rule{Route: footfall.NoRoute, Event: "missed"})
		for _, id := range []string{"kettle", "missing", "broken"} {
			ask(handler, "GET", "/products/"+id, "")
		}
		ask(handler, "POST", "/orders", `{"id":"kettle"}`)
		ask(handler, "POST", "/orders", `{"id":"broken"}`)
		ask(handler, "GET", "/nowhere", "")
		want := []footfalltest.Event{event("product_viewed", "/products/kettle", map[string]any{"id": "kettle"}), event("order_failed", "/orders", nil), event("missed", "/nowhere", nil)}
		assert.ElementsMatch(t, want, told(tracker))
	})
}

func TestTrackInAHandlerHasThePage(t *testing.T) {
	eachGenerator(t, func(t *testing.T, g generator) {
		tracker := footfalltest.New(t)
		handler := g.tracked(t, tracker.Tracker)
		ask(handler, "GET", "/products/kettle?utm_source=letter&secret=1", "")
		ask(handler, "POST", "/orders", `{"id":"kettle"}`)
		assert.Equal(t, []string{"stock_checked", "stock_checked"}, tracker.Names())
		assert.Equal(t, "https://shop.example.com/products/kettle?utm_source=letter", tracker.Events()[0].URL)
		assert.Equal(t, "https://shop.example.com/orders", tracker.Events()[1].URL)
	})
}

// Where Track does not know the route, TrackRoute does.
func TestTrackKnowsTheRouteOfAnHTTPServeMux(t *testing.T) {
	eachGenerator(t, func(t *testing.T, g generator) {
		tracker := footfalltest.New(t, func(c *footfall.Config) { c.Page = footfall.PageRoute })
		handler := g.tracked(t, tracker.Tracker, footfall.Rule{Route: footfall.AnyRoute})
		ask(handler, "GET", "/products/kettle", "")
		require.Equal(t, []string{"stock_checked", "get_products_id"}, tracker.Names())
		const route, path = "https://shop.example.com/products/%7Bid%7D", "https://shop.example.com/products/kettle"
		want := path
		if g.knows {
			want = route
		}
		assert.Equal(t, want, tracker.Events()[0].URL)
		assert.Equal(t, route, tracker.Events()[1].URL)
	})
}

func TestCheckRulesKnowsTheRoutes(t *testing.T) {
	eachGenerator(t, func(t *testing.T, g generator) {
		tracker, plain := footfalltest.New(t), g.plain(t)
		check := func(rule footfall.Rule) error { return tracker.CheckRules(plain, rule) }
		if routes, ok := plain.(chi.Routes); ok {
			check = func(rule footfall.Rule) error { return footfallchi.CheckRules(tracker.Tracker, routes, rule) }
		}
		assert.NoError(t, check(footfall.Rule{Route: "GET /products/{id}"}))
		assert.Equal(t, g.hides, check(footfall.Rule{Route: "GET /product/{id}"}) == nil)
	})
}

// faultID is random in each error of goa.
var faultID = regexp.MustCompile(`"id":"[\w-]{8}","message"`)

// requireSame compares the answers of two handlers.
func requireSame(t *testing.T, plain, tracked http.Handler, method, path, body string) {
	t.Helper()
	want, got := ask(plain, method, path, body), ask(tracked, method, path, body)
	assert.Equal(t, want.Code, got.Code, "%s %s %s", method, path, body)
	assert.Equal(t, want.Header(), got.Header(), "%s %s %s", method, path, body)
	text := func(w *httptest.ResponseRecorder) string { return faultID.ReplaceAllString(w.Body.String(), "") }
	assert.Equal(t, text(want), text(got), "%s %s %s", method, path, body)
}

func TestAnswersAreTheSameAsWithoutTheMiddleware(t *testing.T) {
	eachGenerator(t, func(t *testing.T, g generator) {
		plain := g.plain(t)
		for _, tracker := range []*footfall.Tracker{footfalltest.New(t).Tracker, nil} {
			tracked := g.tracked(t, tracker, footfall.Rule{Route: footfall.AnyRoute, PathProps: []string{"id"}})
			for _, id := range []string{"kettle", "two%2Fwords", "missing", "broken", "", "kettle/more"} {
				requireSame(t, plain, tracked, "GET", "/products/"+id, "")
			}
			for _, order := range []string{`{"id":"kettle"}`, `{"id":"broken"}`, `{"id":7}`, "{", ""} {
				requireSame(t, plain, tracked, "POST", "/orders", order)
			}
			for _, method := range []string{"DELETE", "HEAD", "OPTIONS", "GET"} {
				requireSame(t, plain, tracked, method, "/orders", "")
				requireSame(t, plain, tracked, method, "/nowhere", "")
			}
		}
	})
}

func TestPanicsOfAHandlerPass(t *testing.T) {
	eachGenerator(t, func(t *testing.T, g generator) {
		tracker := footfalltest.New(t)
		for _, handler := range []http.Handler{g.plain(t), g.tracked(t, tracker.Tracker, footfall.Rule{Route: footfall.AnyRoute, StatusProp: "status"})} {
			assert.PanicsWithValue(t, errBroken, func() { ask(handler, "GET", "/products/panic", "") })
		}
		assert.Equal(t, []footfalltest.Event{event("get_products_id", "/products/panic", map[string]any{"status": 500.})}, told(tracker))
	})
}

// The page shows declarations of this package as they are.
func TestThePageShowsThisCode(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/generators.md")
	require.NoError(t, err)
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	var code strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		code.Write(text)
	}
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	assert.GreaterOrEqual(t, len(blocks), 6)
	for _, block := range blocks {
		assert.Contains(t, code.String(), "\n"+block[1])
	}
}
