// Package footfallchi is Footfall's middleware for chi.
//
//	router := chi.NewRouter()
//	router.Use(middleware.Recoverer)
//	router.Get("/pricing", pricing)
//	router.Route("/users", func(r chi.Router) { r.Get("/{id}", user) })
//	handler := footfallchi.Middleware(tracker,
//		footfall.Rule{Route: "GET /pricing", Event: "pricing_viewed"},
//		footfall.Rule{Route: "GET /users/{id}", Event: "user_viewed", PathProps: []string{"id"}},
//	)(router)
//
// Rule.Route is a method and chi's own full pattern, with the patterns of all Route
// and Mount above it, as chi's RoutePattern gives it: "GET /users/{id}", "GET /files/*".
// A slash at the end makes no difference, as in RoutePattern. Without a method the
// rule holds for any method. Routes of chi have no host, so a rule with one never applies.
//
// Handlers track events that no rule can describe with Track(r, "coupon_applied").
package footfallchi

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/go-chi/chi/v5"

	"github.com/footfall-dev/footfall"
)

// Middleware returns a middleware that makes events of answered requests, as rules
// say, and lets footfall.Track find tracker and page in the request's context. Except
// that it takes the route from chi, it is Tracker.Middleware: it changes nothing of the
// application. Wrong rules are logged and left out: see CheckRules. A nil or
// disabled tracker makes no events.
//
// Put it directly around the router, or in Use of the router, of a sub-router, of a
// Group, or in With; but not around a handler that wraps the router, because chi does
// not reveal the route there. Around the router, a multipart form's files are
// removed when the request is answered. In Use and With they stay, as they do without
// this middleware: chi copies each request first, and the server does not see the
// copy's form.
//
// It works on either side of middleware.Recoverer. A panic is passed on with its
// value and recorded as status 500, which is what Recoverer answers with;
// http.ErrAbortHandler is recorded as footfall.Aborted.
//
// A request that no route matches makes an event only if a rule is for footfall.NoRoute,
// also below a Mount. chi runs middlewares of a Group or of With for matched routes only.
// If a middleware below answers, because it refuses the request or has a cached answer,
// the route is the one that would have matched. It is not known for the root of a
// sub-router whose own middleware answers.
//
// A mounted handler that is not a chi router counts as one route, "/files/*", and so
// does a chi router with a middleware around it: add the middleware with Use instead.
//
// The middleware may serve several routers and concurrent requests. It starts no
// goroutine and keeps nothing of a request.
func Middleware(tracker *footfall.Tracker, rules ...footfall.Rule) func(http.Handler) http.Handler {
	set := tracker.Rules(canonicalRules(rules)...)
	return func(next http.Handler) http.Handler {
		counted := set.Wrap(next, routeOf)
		routes, ok := next.(chi.Routes)
		if !ok {
			return valued(counted)
		}
		contexts := &sync.Pool{New: func() any { return chi.NewRouteContext() }}
		return &around{tracker: tracker, routes: routes, counted: counted, contexts: contexts}
	}
}

// valued sets the values of the route's wildcards on the original request, as chi does
// if nothing copies the request. Rules.Wrap does this where chi sets Pattern, since v5.2.4.
func valued(counted http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		counted.ServeHTTP(w, r)
		if r.Pattern != "" {
			return
		}
		rctx := chi.RouteContext(r.Context())
		if rctx == nil {
			return
		}
		route, own := routed(rctx, r)
		if route == "" {
			return
		}
		for i, name := range own.URLParams.Keys {
			r.SetPathValue(name, own.URLParams.Values[i])
		}
	})
}

// around is a router with the middleware around it. It gives the request a route context,
// which the router would do first. So it still has the context, and the request that the
// handlers have, when the request is answered.
type around struct {
	tracker  *footfall.Tracker
	routes   chi.Routes
	counted  http.Handler // the router, with the middleware
	contexts *sync.Pool   // of *chi.Context
}

func (a *around) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if chi.RouteContext(r.Context()) != nil { // mounted
		a.counted.ServeHTTP(w, r)
		return
	}
	rctx := a.contexts.Get().(*chi.Context)
	rctx.Reset()
	rctx.Routes = a.routes
	ctx := context.WithValue(r.Context(), chi.RouteCtxKey, rctx)
	routed := r.WithContext(a.tracker.WithPage(ctx, a.tracker.Page(r))) // so that the middleware makes no copy
	defer handBack(r, routed)
	a.counted.ServeHTTP(w, routed)
	a.contexts.Put(rctx) // not after a panic, as in chi
}

// handBack gives the server the form whose files it must remove (golang/go#58809).
// A chi router shows handlers above it nothing else of its copy of the request.
func handBack(r, routed *http.Request) {
	if routed.MultipartForm != nil {
		r.MultipartForm = routed.MultipartForm
	}
}

// routeOf returns the route of an answered request. It reads the route context, which
// all copies of the request share. No route of chi is a subtree without a * in it.
func routeOf(r *http.Request) (route string, subtree bool, _ footfall.PathValuer) {
	rctx := chi.RouteContext(r.Context())
	if rctx == nil {
		return "", false, nil
	}
	route, own := routed(rctx, r)
	return route, false, values{own}
}

// routed returns the full pattern of the route that the request matched, and the context with
// the values of its wildcards. chi records the pattern of each router on the way, and so has
// a pattern even if the last router found no route.
func routed(rctx *chi.Context, r *http.Request) (string, *chi.Context) {
	noted, last := canonical(rctx.RoutePatterns...), ""
	if n := len(rctx.RoutePatterns); n > 0 {
		last = rctx.RoutePatterns[n-1]
	}
	path := cmp.Or(r.URL.RawPath, r.URL.Path, "/")
	switch {
	case last != "" && !agrees(rctx, path):
		// A handler has called Find with this context, or a middleware changed the path.
		found, own := find(rctx, r, path)
		if found == "" || slices.Equal(own.RoutePatterns, rctx.RoutePatterns) {
			return noted, rctx
		}
		return found, own
	case last == "":
		return find(rctx, r, cmp.Or(rctx.RoutePath, path))
	case rctx.RoutePath == "" || last == "/": // the last is no Mount
		return noted, rctx
	case rctx.RoutePath == "/": // a router has no other route for it, so a Mount, or a catch-all
		mount := strings.TrimSuffix(noted, "/*") + "/*"
		if found, _ := find(rctx, r, strings.TrimRight(path, "/")+"/-"); found == mount {
			return mount, rctx
		}
		return "", rctx // chi does not tell what the root of a mounted router is
	case strings.HasSuffix(last, "*") && rctx.URLParam("*") == "": // Mount takes the value
		return find(rctx, r, path)
	}
	return noted, rctx
}

// agrees reports whether the recorded patterns, with the recorded values of their wildcards,
// make the path of the request.
func agrees(rctx *chi.Context, path string) bool {
	path = strings.TrimRight(path, "/")
	values, last := rctx.URLParams.Values, len(rctx.RoutePatterns)-1
	for i, pattern := range rctx.RoutePatterns {
		if i < last && !strings.HasSuffix(pattern, "*") && rctx.RoutePath != "/" {
			return false // only the root of a Mount is followed by another pattern
		}
		if !strings.HasPrefix(path, "/") {
			pattern = strings.TrimPrefix(pattern, "/") // the one before ended with it
		}
		var ok bool
		if path, values, ok = cutPattern(pattern, path, values); !ok {
			return false
		}
	}
	return path == "" && len(values) == 0
}

// cutPattern removes a pattern, with values in place of its wildcards, from the beginning of a
// path. It leaves out a slash at the end.
func cutPattern(pattern, path string, values []string) (rest string, more []string, ok bool) {
	for pattern != "" {
		text := pattern
		if at := strings.IndexAny(pattern, "{*"); at >= 0 {
			text = pattern[:at]
		}
		if pattern = pattern[len(text):]; pattern == "" || pattern == "*" && path+"/" == text {
			text = strings.TrimSuffix(text, "/")
		}
		if !strings.HasPrefix(path, text) {
			return "", nil, false
		}
		if path = path[len(text):]; pattern == "" {
			break
		}
		if len(values) == 0 || !strings.HasPrefix(path, strings.TrimRight(values[0], "/")) {
			return "", nil, false
		}
		path = strings.TrimPrefix(path, strings.TrimRight(values[0], "/"))
		pattern, values = pattern[wildcardLen(pattern):], values[1:]
	}
	return path, values, true
}

// wildcardLen returns the length of the wildcard that a pattern begins with. A regular
// expression may have further braces.
func wildcardLen(pattern string) int {
	depth := 0
	for i := range len(pattern) {
		switch pattern[i] {
		case '{':
			depth++
		case '}':
			depth--
		}
		if depth == 0 {
			return i + 1
		}
	}
	return len(pattern)
}

// find asks the router for the route of a request for which chi recorded no route, or
// only the route of a Mount.
func find(rctx *chi.Context, r *http.Request, path string) (string, *chi.Context) {
	if rctx.Routes == nil { // a context made by a test
		return "", rctx
	}
	own := chi.NewRouteContext() // Match notes the patterns; chi has Find since v5.2.0
	if !rctx.Routes.Match(own, cmp.Or(rctx.RouteMethod, r.Method), path) {
		return "", rctx
	}
	params := own.URLParams
	for i := range min(len(params.Keys), len(params.Values)) {
		if params.Keys[i] == "*" && (i < len(params.Keys)-1 || !strings.HasSuffix(own.RoutePatterns[len(own.RoutePatterns)-1], "*")) {
			params.Values[i] = "" // as Mount does
		}
	}
	return canonical(own.RoutePatterns...), own
}

// values are the values of the route's wildcards.
type values struct{ rctx *chi.Context }

// PathValue implements footfall.PathValuer.
func (v values) PathValue(name string) string { return v.rctx.URLParam(name) }

// Track is footfall.Track for r, below the middleware. Without a middleware above, or with
// Config.NoContextValue, the error is footfall.ErrNoTracker: use Tracker.TrackRequest
// there. Unlike footfall.Track it knows the route, which footfall.PageRoute needs. In a
// goroutine that outlives the handler call footfall.Track.
func Track(r *http.Request, name string, props ...footfall.Prop) error {
	route := ""
	if rctx := chi.RouteContext(r.Context()); rctx != nil {
		route, _ = routed(rctx, r)
	}
	return footfall.TrackRoute(r.Context(), route, name, props...)
}

// CheckRules returns an error that joins a *footfall.FieldError for every rule that is
// wrong or whose route chi.Walk does not list, because it is not registered in the router
// or is below a handler that is not a chi router. Call it at start-up, after the
// routes are registered, to refuse a start with rules that never apply. It returns nil
// for a nil or disabled tracker.
func CheckRules(tracker *footfall.Tracker, routes chi.Routes, rules ...footfall.Rule) error {
	var registered []string
	err := chi.Walk(routes, func(method, route string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		registered = append(registered, method+" "+canonical(route))
		return nil
	})
	if err != nil {
		return err
	}
	return tracker.CheckRoutes(registered, canonicalRules(rules)...)
}

// canonicalRules returns the rules with patterns in the form that chi records.
func canonicalRules(rules []footfall.Rule) []footfall.Rule {
	rules = slices.Clone(rules)
	for i, r := range rules {
		if slash := strings.IndexByte(r.Route, '/'); slash >= 0 {
			rules[i].Route = r.Route[:slash] + canonical(r.Route[slash:])
		}
	}
	return rules
}

// canonical joins patterns as chi's RoutePattern does: without the wildcards that only
// join routers, and without the double slash that the root of a Mount causes.
func canonical(patterns ...string) string {
	return strings.ReplaceAll((&chi.Context{RoutePatterns: patterns}).RoutePattern(), "//", "/")
}
