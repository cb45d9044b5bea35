// Package footfallmux is Footfall's middleware for gorilla/mux.
//
//	router := mux.NewRouter()
//	router.HandleFunc("/checkout", checkout).Methods("POST")
//	router.HandleFunc("/users/{id:[0-9]+}", user).Methods("GET")
//	handler := footfallmux.Wrap(tracker, router,
//		footfall.Rule{Route: "POST /checkout", Event: "checkout_completed", Status: footfall.Success},
//		footfall.Rule{Route: "GET /users/{id:[0-9]+}", Event: "user_viewed", PathProps: []string{"id"}},
//	)
//
// Rule.Route is a method and the template of the route as GetPathTemplate gives it, with
// the templates of all PathPrefix and Subrouter above. The template of a Host may precede
// it: "GET shop.example.com/cart". Without a method or a host the rule holds for any. The
// route of a PathPrefix is its template; a route without a template is "/". Handlers track
// events that no rule can describe with Track(r, "coupon_applied").
package footfallmux

import (
	"cmp"
	"context"
	"net/http"
	"regexp"
	"strings"
	"sync"

	"github.com/gorilla/mux"

	"github.com/footfall-dev/footfall"
)

// Middleware returns a middleware for Use that makes events of answered requests, as
// rules say, and lets footfall.Track find tracker and page in the request's context.
// Except that it takes the route from mux, it is Tracker.Middleware: it changes nothing of
// the application. Wrong rules are logged and left out: see CheckRules. A
// nil or disabled tracker makes no events.
//
// Use it on a router or a subrouter. mux runs middlewares for matched routes
// only, so for events of footfall.NoRoute use Wrap, or set both handlers that
// answer other requests, with the middleware around them:
//
//	track := footfallmux.Middleware(tracker, rules...)
//	router.Use(track)
//	router.NotFoundHandler = track(http.NotFoundHandler())
//	router.MethodNotAllowedHandler = track(methodNotAllowed) // answers 405
//
// It works on either side of handlers.RecoveryHandler. A panic is recorded as status
// 500 and passed on with its value; http.ErrAbortHandler is recorded as
// footfall.Aborted. The files of a multipart form stay, as they do without this
// middleware: mux copies each request first, and the server does not see the copy's
// form. With Wrap they are removed.
//
// The route is a route of the middleware's router. If its Handler is another router, that
// router is part of the route. The middleware may serve several routers and concurrent
// requests, and keeps nothing of a request.
func Middleware(tracker *footfall.Tracker, rules ...footfall.Rule) mux.MiddlewareFunc {
	set, routeOf := tracker.Rules(rules...), (&patterns{}).routeOf
	return func(next http.Handler) http.Handler { return set.Wrap(next, routeOf) } // for each request
}

// Wrap returns the router with the middleware around it. Use either Wrap or Middleware,
// not both. Unlike Middleware, Wrap sees requests that no route matches, and the files of
// a multipart form are removed when the request is answered. If a middleware of the router
// answers, the route is the one that matches.
//
// Wrap adds a middleware to the router: call it, like Use, before the router serves.
func Wrap(tracker *footfall.Tracker, router *mux.Router, rules ...footfall.Rule) http.Handler {
	a := &around{tracker: tracker, router: router, found: &patterns{}}
	router.Use(a.note)
	a.counted = tracker.Rules(rules...).Wrap(router, a.routeOf)
	return a
}

// around is a router with the middleware around it.
type around struct {
	tracker *footfall.Tracker
	router  *mux.Router
	found   *patterns
	counted http.Handler // the router, with the middleware
}

// passage is the context of a request to the router. mux copies the request, and the copies
// have the route and the form. The passage keeps the copy that the handlers have.
type passage struct {
	context.Context
	around *around
	routed *http.Request // nil if no route was matched, or a middleware answered
}

// Value implements context.Context.
func (p *passage) Value(key any) any {
	if key == any(p.around) {
		return p
	}
	return p.Context.Value(key)
}

func (a *around) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p := &passage{Context: r.Context(), around: a}
	defer p.handBack(r)
	a.counted.ServeHTTP(w, r.WithContext(a.tracker.WithPage(p, a.tracker.Page(r))))
}

// handBack gives the server the form whose files it must remove (golang/go#58809).
// A mux router shows handlers above it nothing else of its copy of the request.
func (p *passage) handBack(r *http.Request) {
	if p.routed != nil && p.routed.MultipartForm != nil {
		r.MultipartForm = p.routed.MultipartForm
	}
}

// note is the middleware that Wrap adds to the router.
func (a *around) note(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p, ok := r.Context().Value(a).(*passage); ok {
			p.routed = r
		}
		next.ServeHTTP(w, r)
	})
}

func (a *around) routeOf(r *http.Request) (string, bool, footfall.PathValuer) {
	if p, ok := r.Context().Value(a).(*passage); ok && p.routed != nil {
		return a.found.routeOf(p.routed)
	}
	var match mux.RouteMatch
	if !a.router.Match(r, &match) || match.MatchErr != nil {
		return "", false, nil
	}
	found := a.found.of(match.Route)
	return found.pattern, found.subtree, routed{mux.SetURLVars(r, match.Vars)}
}

// patterns caches the pattern of each matched route: mux composes it for each call and, if
// the route has no host, allocates an error.
type patterns struct {
	known sync.Map // of *mux.Route: *pattern
}

// pattern is the pattern of a route, or "".
type pattern struct {
	pattern string
	subtree bool // the route matches all longer paths, too
}

func (p *patterns) routeOf(r *http.Request) (string, bool, footfall.PathValuer) {
	route := mux.CurrentRoute(r)
	if route == nil {
		return "", false, nil
	}
	found := p.of(route)
	return found.pattern, found.subtree, routed{r}
}

func (p *patterns) of(route *mux.Route) *pattern {
	if known, ok := p.known.Load(route); ok {
		return known.(*pattern)
	}
	found := &pattern{patternOf(route), isSubtree(route)}
	p.known.Store(route, found)
	return found
}

// patternOf returns the pattern of a route. It returns "" for the route of a subrouter,
// which the request has while the subrouter's own handlers for 404 and 405 run.
func patternOf(route *mux.Route) string {
	if route.GetHandler() == nil || route.GetError() != nil {
		return ""
	}
	host, _ := route.GetHostTemplate()
	path, _ := route.GetPathTemplate()
	return host + cmp.Or(path, "/")
}

// isSubtree reports whether a route matches paths of any length: a PathPrefix, a route
// without a path, and a path that ends with a wildcard such as {rest:.*}.
func isSubtree(route *mux.Route) bool {
	text, err := route.GetPathRegexp()
	if err != nil {
		return true
	}
	if !strings.HasSuffix(text, "$") || strings.HasSuffix(text, `\$`) {
		return true
	}
	template, err := route.GetPathTemplate()
	last := strings.LastIndexByte(template, '{')
	if err != nil || last < 0 || !strings.HasSuffix(template, "}") {
		return false
	}
	_, of, found := strings.Cut(template[last:len(template)-1], ":")
	several, err := regexp.MatchString("^(?:"+of+")$", "a/a")
	return found && several && err == nil
}

// routed is a request that has the values of the route's wildcards.
type routed struct{ *http.Request }

// PathValue implements footfall.PathValuer.
func (r routed) PathValue(name string) string { return mux.Vars(r.Request)[name] }

// Track is footfall.Track for r, below the middleware. Without a middleware above, or with
// Config.NoContextValue, the error is footfall.ErrNoTracker: use Tracker.TrackRequest there.
// Unlike footfall.Track it knows the route, which footfall.PageRoute needs.
func Track(r *http.Request, name string, props ...footfall.Prop) error {
	route := ""
	if matched := mux.CurrentRoute(r); matched != nil {
		route, _ = matched.GetPathTemplate()
	}
	return footfall.TrackRoute(r.Context(), route, name, props...)
}

// CheckRules returns an error that joins a *footfall.FieldError for every rule that is
// wrong or whose route is not registered in the router or its subrouters. Call it at
// start-up, after the routes are registered, to refuse a start with rules that never
// apply. It returns nil for a nil or disabled tracker.
func CheckRules(tracker *footfall.Tracker, router *mux.Router, rules ...footfall.Rule) error {
	var registered []string
	_ = router.Walk(func(route *mux.Route, _ *mux.Router, _ []*mux.Route) error { // which returns none
		methods, err := route.GetMethods()
		if err != nil {
			methods = []string{""} // any
		}
		for _, method := range methods {
			if pattern := patternOf(route); pattern != "" {
				registered = append(registered, method+" "+pattern)
			}
		}
		if _, ok := route.GetHandler().(*mux.Router); ok {
			return mux.SkipRouter // its routes are part of this one
		}
		return nil
	})
	return tracker.CheckRoutes(registered, rules...)
}
