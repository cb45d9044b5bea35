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
// Rule.Route is a method and the template of the route as it was registered, with those
// of all PathPrefix and Subrouter above it, as GetPathTemplate gives it. The template
// of a Host may stand before it: "GET shop.example.com/cart". Without a method or a
// host the rule holds for any. A PathPrefix has no other mark than its template; a
// route without any template has "/". In a handler Track(r, "coupon_applied") adds what
// a rule can't say.
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
// It is Tracker.Middleware but for where the route comes from: it changes nothing of
// the application. Rules that are wrong are logged and left out: see CheckRules. A
// nil or disabled tracker makes no events.
//
// It may stand on a router or a subrouter. mux runs middlewares for matched routes
// only, so for events of footfall.NoRoute use Wrap, or put it around both handlers
// that answer for the others, each of which has to be set then:
//
//	track := footfallmux.Middleware(tracker, rules...)
//	router.Use(track)
//	router.NotFoundHandler = track(http.NotFoundHandler())
//	router.MethodNotAllowedHandler = track(methodNotAllowed) // answers 405
//
// It works on either side of handlers.RecoveryHandler. A panic is recorded as status
// 500 and passed on with the value it had; http.ErrAbortHandler is recorded as
// footfall.Aborted. The files of a multipart form stay, as they do without this
// middleware: mux makes copies of each request first, of whose form the server never
// learns. With Wrap they are removed.
//
// The route is that of the router the middleware stands on: another router that is the
// Handler of a route is, like every handler, part of that route. The middleware may
// serve requests at once and several routers, and keeps nothing of a request.
func Middleware(tracker *footfall.Tracker, rules ...footfall.Rule) mux.MiddlewareFunc {
	set, routeOf := tracker.Rules(rules...), (&patterns{}).routeOf
	return func(next http.Handler) http.Handler { return set.Wrap(next, routeOf) } // for each request
}

// Wrap returns the router with the middleware around it, in place of Middleware in
// Use, not beside it. It sees what Use does not: requests that no route matches, and
// the form whose files are to be removed when the request is answered. When a
// middleware of the router answers by itself, the route is the one that matches.
//
// Wrap adds a middleware to the router: call it, as Use, before the router serves.
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

// passage is the context of a request to the router. mux makes copies of the request
// which have the route and the form; the passage keeps hold of the one handed down.
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

// handBack gives the server the form whose files it is to remove (golang/go#58809).
// Of the rest a router of mux shows nothing to what is above it.
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

// patterns keeps the pattern of each route that was matched, which mux puts together
// and, for a route without a host, makes an error for.
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

// patternOf returns "" for a route that is not one: that of a subrouter, which stands
// in the request when the subrouter's own handlers for 404 and 405 run.
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

// Track is footfall.Track for r, below the middleware. The error is footfall.ErrNoTracker
// where none is above or Config.NoContextValue is set: there Tracker.TrackRequest works.
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
// apply. It is nil for a nil or disabled tracker.
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
