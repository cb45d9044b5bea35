package adaptertest_test

import (
	"net/http"
	"testing"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/adaptertest"
	"github.com/footfall-dev/footfall/footfalltest"
)

// middleware puts app's middleware around next, or nothing if it has no tracker.
func middleware(app footfalltest.App, next http.Handler) http.Handler {
	if app.Tracker == nil {
		return next
	}
	return app.Tracker.Middleware(app.Rules...)(next)
}

func muxOf(app footfalltest.App) http.Handler {
	mux := http.NewServeMux()
	track := func(r *http.Request, name string, props ...footfall.Prop) error {
		return footfall.Track(r.Context(), name, props...)
	}
	for _, r := range app.Routes {
		mux.Handle(r.Method+" "+r.Pattern, adaptertest.Tracking(r, track))
	}
	return middleware(app, mux)
}

// The middleware of net/http passes the suite of the adapters.
func TestMiddlewareOfNetHTTP(t *testing.T) {
	adaptertest.Run(t, footfalltest.Subject{
		Handler: func(_ testing.TB, app footfalltest.App) http.Handler { return muxOf(app) },
		Tracks:  true,
		Nested: []footfalltest.Nested{
			{
				Name: "a subtree", Method: "GET", Path: "/docs/a/b", Route: "GET /docs/",
				Handler: func(_ testing.TB, app footfalltest.App) http.Handler {
					mux := http.NewServeMux()
					mux.Handle("GET /docs/", app.Routes[0].Handler)
					return middleware(app, mux)
				},
			},
			{
				Name: "a mux mounted with StripPrefix", Method: "GET", Path: "/api/users/7", Route: "GET /api/users/{id}",
				Handler: func(_ testing.TB, app footfalltest.App) http.Handler {
					inner := http.NewServeMux()
					inner.Handle("GET /users/{id}", app.Routes[0].Handler)
					mux := http.NewServeMux()
					mux.Handle("/api/", http.StripPrefix("/api", inner))
					return middleware(app, mux)
				},
			},
			{
				Name: "a route of a host", Method: "GET", Host: "shop.example.com", Path: "/cart", Route: "GET shop.example.com/cart",
				Handler: func(_ testing.TB, app footfalltest.App) http.Handler {
					mux := http.NewServeMux()
					mux.Handle("GET shop.example.com/cart", app.Routes[0].Handler)
					return middleware(app, mux)
				},
			},
			{
				Name: "a middleware between that copies the request", Method: "POST", Path: "/users/7", Route: "POST /users/{id}",
				Handler: func(_ testing.TB, app footfalltest.App) http.Handler {
					mux := http.NewServeMux()
					mux.Handle("POST /users/{id}", app.Routes[0].Handler)
					return middleware(app, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						mux.ServeHTTP(w, r.WithContext(r.Context()))
					}))
				},
			},
		},
	})
}

const measured = "POST /checkout/{id}"

// measure returns requests through a bare mux, and through one with a rule, its
// event and the context value.
func measure(tb testing.TB) (bare, wrapped func()) {
	app := footfalltest.App{
		Tracker: adaptertest.Tracker(tb),
		Rules:   []footfall.Rule{{Route: measured, Event: "checkout_completed", Status: footfall.Success}},
		Routes:  []footfalltest.Route{{Method: "POST", Pattern: "/checkout/{id}", Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}},
	}
	wrapped = adaptertest.Requests(muxOf(app), "POST", "/checkout/7")
	app.Tracker = nil
	return adaptertest.Requests(muxOf(app), "POST", "/checkout/7"), wrapped
}

func TestMiddlewareOfNetHTTPAllocatesAtMostFive(t *testing.T) {
	bare, wrapped := measure(t)
	adaptertest.Allocations(t, bare, wrapped, 5)
}

func BenchmarkNetHTTP(b *testing.B) {
	bare, wrapped := measure(b)
	adaptertest.Benchmark(b, bare, wrapped)
}
