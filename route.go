package footfall

import (
	"iter"
	"net/http"
	"net/url"

	"github.com/footfall-dev/footfall/internal/pattern"
)

// PathValuer returns the values of a pattern's wildcards. An *http.Request implements it.
type PathValuer interface {
	PathValue(name string) string
}

// router is implemented by http.ServeMux. Handler returns the pattern that a request matches.
type router interface {
	Handler(*http.Request) (http.Handler, string)
}

// routeFinder finds the pattern that a request matched.
type routeFinder struct {
	paths    map[string]bool // of the rules' routes
	mux      *http.ServeMux  // has the rules' routes; nil if there are none
	aboveMux bool            // below is a mux: it notes every pattern that it finds
	below    router          // the handler below, if it is a router; may be nil
}

// routedRequest is a request of the middleware, whose route is found when it is needed.
type routedRequest struct {
	method string
	routes *routeFinder // nil if an adapter finds the route
}

// newRouteFinder returns a finder for rules of the given routes.
func newRouteFinder(routes iter.Seq[string]) routeFinder {
	f := routeFinder{paths: make(map[string]bool)}
	for route := range routes {
		f.paths[pattern.Parse(route).Path] = true
		if !isPattern(route) {
			continue
		}
		if f.mux == nil {
			f.mux = http.NewServeMux()
		}
		registers(f.mux, route) // a route that conflicts with another is found by its exact pattern only
	}
	return f
}

// routeOf returns the pattern that a request matched, or "". It does not read the request, which
// other goroutines may change.
func (f *routeFinder) routeOf(method string, p *Page) (route string) {
	asked := &http.Request{Method: method, Host: p.host, URL: &url.URL{Path: p.path, RawPath: p.rawPath}}
	if f.below != nil {
		_, route = f.below.Handler(asked)
	}
	if f.mux == nil || route != "" && !f.mayGoOn(route) {
		return route
	}
	if _, own := f.mux.Handler(asked); own != "" {
		return own
	}
	return route
}

// routed returns the pattern of an answered request, whether it is a subtree, and the request
// that has the values of its wildcards. That is the request of the handler, unless a pattern of
// the rules is more specific. path and rawPath belong to the original request.
func (f *routeFinder) routed(r *http.Request, path, rawPath string) (route string, subtree bool, values PathValuer) {
	noted := r.Pattern
	if f.mux == nil || noted == "" && f.aboveMux || noted != "" && !f.mayGoOn(noted) {
		return noted, pattern.IsSubtree(noted), r
	}
	if found := f.find(r, path, rawPath); found.Pattern != "" {
		return found.Pattern, pattern.IsSubtree(found.Pattern), found
	}
	return noted, pattern.IsSubtree(noted), r
}

// mayGoOn reports whether another mux may have found a longer pattern below the noted one. The
// noted pattern is a subtree then, and no rule names its path.
func (f *routeFinder) mayGoOn(noted string) bool {
	return pattern.IsSubtree(noted) && !f.paths[pattern.Parse(noted).Path]
}

// find returns a request that went through the mux of the rules' patterns. It has the path of
// the original request, because a handler may have cut a prefix off the path of r.
func (f *routeFinder) find(r *http.Request, path, rawPath string) *http.Request {
	original := &http.Request{Method: r.Method, Host: r.Host, URL: &url.URL{Path: path, RawPath: rawPath}}
	if h, _ := f.mux.Handler(original); h == http.Handler(matched{}) { // neither a redirect nor a 404
		f.mux.ServeHTTP(nil, original)
	}
	return original
}

// isPattern reports whether an http.ServeMux accepts the route.
func isPattern(route string) bool { return registers(http.NewServeMux(), route) }

// registers adds a route to mux and reports whether mux accepts it. An http.ServeMux panics
// where it does not.
func registers(mux *http.ServeMux, route string) (ok bool) {
	defer func() { ok = recover() == nil }()
	mux.Handle(route, matched{})
	return true
}

// matched is the handler of every route in a mux of the rules' patterns. A request for which
// the mux has another handler, such as a redirect, matches no rule.
type matched struct{}

func (matched) ServeHTTP(http.ResponseWriter, *http.Request) {}
