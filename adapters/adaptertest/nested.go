package adaptertest

import (
	"net/http"
	"testing"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
)

// Nested returns a composition of routers that serve makes.
func Nested(name, method, path, route string, serve func(app footfalltest.App) http.Handler) footfalltest.Nested {
	return footfalltest.Nested{
		Name: name, Method: method, Path: path, Route: route,
		Handler: func(_ testing.TB, app footfalltest.App) http.Handler { return serve(app) },
	}
}

// Inside puts a handler of net/http around the handler of a composition.
func Inside(n footfalltest.Nested, outer func(http.Handler) http.Handler) footfalltest.Nested {
	inner := n.Handler
	n.Handler = func(tb testing.TB, app footfalltest.App) http.Handler { return outer(inner(tb, app)) }
	return n
}

// BelowStripPrefix mounts a composition at a mux of net/http, below /api.
func BelowStripPrefix(n footfalltest.Nested) footfalltest.Nested {
	return Inside(n, func(h http.Handler) http.Handler { return mux("/api/", http.StripPrefix("/api", h)) })
}

// OfAHost mounts a composition at a mux of net/http for requests to shop.example.com.
func OfAHost(n footfalltest.Nested) footfalltest.Nested {
	return OnHost(Inside(n, func(h http.Handler) http.Handler { return mux("shop.example.com/", h) }))
}

// OnHost sends a composition's request to shop.example.com.
func OnHost(n footfalltest.Nested) footfalltest.Nested {
	n.Host = "shop.example.com"
	return n
}

func mux(pattern string, h http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle(pattern, h)
	return mux
}

// Copying is a middleware of net/http that copies the request.
func Copying(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { next.ServeHTTP(w, r.WithContext(r.Context())) })
}

// Failing is the handler of a route of the suite, for routers whose handlers return no
// error.
func Failing(r footfalltest.Route) http.Handler {
	if r.Fail == 0 {
		return r.Handler
	}
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "it fails", r.Fail) })
}

// Tracking is Failing for routers of net/http, with the adapter's own Track for Route.Event.
func Tracking(r footfalltest.Route, track func(r *http.Request, name string, props ...footfall.Prop) error) http.Handler {
	next := Failing(r)
	if r.Event == "" {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		_ = track(request, r.Event) // the row misses the event
		next.ServeHTTP(w, request)
	})
}
