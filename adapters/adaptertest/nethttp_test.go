package adaptertest_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/adaptertest"
	"github.com/footfall-dev/footfall/footfalltest"
)

// app is a mux of net/http below middlewares.
type app struct {
	adaptertest.Layers
	mux *http.ServeMux
}

func newApp() adaptertest.App {
	mux := http.NewServeMux()
	return &app{adaptertest.Layers{Plain: words, Inner: func() http.Handler { return mux }}, mux}
}

var words = &adaptertest.Plain{
	Value: (*http.Request).PathValue,
	Track: func(r *http.Request, name string, props ...footfall.Prop) error {
		return footfall.Track(r.Context(), name, props...)
	},
}

func (a *app) Watch(tracker *footfall.Tracker, rules ...footfall.Rule) {
	a.Add(tracker.Middleware(rules...))
}

func (a *app) Handle(groups []string, method, pattern string, h adaptertest.Handler) {
	a.mux.Handle(strings.TrimPrefix(method+" "+strings.Join(groups, "")+pattern, " "), words.Handler(h))
}

func (a *app) CheckRules(tracker *footfall.Tracker, rules ...footfall.Rule) error {
	return tracker.CheckRules(a.mux, rules...)
}

// The middleware of net/http passes the tests of the adapters.
var subject = adaptertest.Subject{
	New:     newApp,
	Handler: func(a adaptertest.App) http.Handler { return a.(*app).Handler() },
	UseHTTP: func(a adaptertest.App, m func(http.Handler) http.Handler) { a.(*app).Add(m) },
	Nested: []footfalltest.Nested{
		composed("a subtree", "GET", "", "/docs/a/b", "GET /docs/", func(mux *http.ServeMux, h http.Handler) { mux.Handle("GET /docs/", h) }),
		composed("a mux mounted with StripPrefix", "GET", "", "/api/users/7", "GET /api/users/{id}", func(mux *http.ServeMux, h http.Handler) {
			inner := http.NewServeMux()
			inner.Handle("GET /users/{id}", h)
			mux.Handle("/api/", http.StripPrefix("/api", inner))
		}),
		composed("a route of a host", "GET", "shop.example.com", "/cart", "GET shop.example.com/cart", func(mux *http.ServeMux, h http.Handler) {
			mux.Handle("GET shop.example.com/cart", h)
		}),
	},
	Impossible: map[string]string{
		"a refusal by a middleware below is recorded":                   "no route is matched below a middleware that answers",
		"middlewares above see the same request as without the adapter": "a middleware of net/http has its own request, which none below can replace",
		"Track knows the route":                                         "there is no Track with a route",
	},
}

func composed(name, method, host, path, route string, compose func(mux *http.ServeMux, h http.Handler)) footfalltest.Nested {
	return footfalltest.Nested{Name: name, Method: method, Host: host, Path: path, Route: route, Handler: func(_ testing.TB, of footfalltest.App) http.Handler {
		mux := http.NewServeMux()
		compose(mux, of.Routes[0].Handler)
		if of.Tracker == nil {
			return mux
		}
		return of.Tracker.Middleware(of.Rules...)(mux)
	}}
}

func TestMiddlewareOfNetHTTP(t *testing.T) { adaptertest.Conform(t, subject) }

func TestMiddlewareOfNetHTTPIsLikeTheAdapters(t *testing.T) {
	t.Parallel()
	adaptertest.Run(t, subject)
}

func TestMiddlewareOfNetHTTPAllocatesAtMostFive(t *testing.T) { subject.AllocatesAtMost(t, 5) }

func BenchmarkNetHTTP(b *testing.B) { subject.Benchmark(b) }
