// Package footfallechov4 is Footfall's middleware for echo v4.
//
//	e.Use(footfallechov4.Middleware(tracker,
//		footfall.Rule{Route: "GET /users/:id", Event: "user_viewed", PathProps: []string{"id"}},
//	), middleware.Recover())
//
// Rule.Route is a method, which may be missing, and echo's own full pattern, as Context.Path
// gives it, with the prefixes of all groups. A rule for a route of Echo.Host may have the host
// before the path: "GET shop.example.com/cart/:id".
package footfallechov4

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"reflect"
	"sync"

	"github.com/footfall-dev/footfall"
	"github.com/labstack/echo/v4"
)

// Middleware returns a middleware that makes events of answered requests, as rules
// say, and lets Track find tracker and page. Wrong rules are logged and left
// out: see CheckRules. A nil or disabled tracker makes no events. The middleware may serve
// several Echos and concurrent requests, and keeps nothing of a request.
//
// Register it with Echo.Use, before other middlewares, to see the requests that they
// refuse. It also works on a group or a route. A request that no route matches, or only one
// of Echo.RouteNotFound, makes an event if the answer is 404 or 405 and a rule is for
// footfall.NoRoute. In Echo.Pre, and if no route matches, it does not replace the request,
// because echo routes the original: there this package's Track works, not footfall.Track.
//
// The middleware returns errors unchanged; echo calls its HTTPErrorHandler once. The
// events are made when the answer to the error begins, with the answer's status; an error
// without an answer makes none. Above middleware.Recover, a panic is such an error. Below
// it, a panic is recorded as status 500 and passed on. http.ErrAbortHandler is
// footfall.Aborted on both sides.
//
// Below it, the request of echo.Context is a copy with another context, unless
// Config.NoContextValue is set. Afterwards it is the original request again, with the changes
// made to the copy, so that the server removes a form's files. After an error the copy stays.
func Middleware(tracker *footfall.Tracker, rules ...footfall.Rule) echo.MiddlewareFunc {
	set, known := tracker.Rules(rules...), new(sync.Map)
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			p := &passage{c: c, came: c.Request(), visit: set.Visit(c.Request()), answer: c.Response(), known: known}
			p.inner = p.visit.Request()
			if c.Path() == "" || isMissing(c) { // in Pre, or no route matches
				p.inner = p.came
				c.Set(contextKey, p.visit.Request().Context())
			} else {
				p.visit.SetRoute(c.Path())
			}
			p.answer.Writer = p.visit.Writer(p.answer.Writer)
			c.SetRequest(p.inner)
			defer p.end()
			p.err = next(c)
			p.returned = true
			return p.err
		}
	}
}

// passage is one request on its way through the handlers below the middleware.
type passage struct {
	c           echo.Context
	came, inner *http.Request
	visit       footfall.Visit
	answer      *echo.Response
	known       *sync.Map // see routeOf
	err         error
	returned    bool
}

// end is deferred. It passes on a panic with the value it had.
func (p *passage) end() {
	panicked := recover()
	o := footfall.Observation{Route: routeOf(p.c, p.came, p.known), Path: p, Status: http.StatusOK, Request: p.inner}
	cause, _ := panicked.(error)
	switch {
	case errors.Is(cause, http.ErrAbortHandler), panicked == nil && !p.returned: // runtime.Goexit
		o.Aborted = true
	case panicked != nil:
		o.Status = http.StatusInternalServerError
	case p.visit.Status() != 0: // echo knows nothing of a flush, and of an upgrade only its error
		o.Status = p.visit.Status()
	case p.err != nil: // which a middleware above answers, or the HTTPErrorHandler
		later := o
		p.visit.End(footfall.Observation{Request: p.inner}) // hands back what is known by now; it makes no event
		p.answer.Before(func() {
			later.Status, later.Header = p.answer.Status, p.answer.Header()
			p.visit.End(later)
		})
		return
	}
	o.Header = p.answer.Header()
	p.visit.End(o)
	if p.err == nil && panicked == nil && p.c.Request() == p.inner {
		p.c.SetRequest(p.came)
	}
	if panicked != nil {
		panic(panicked)
	}
}

// PathValue implements footfall.PathValuer.
func (p *passage) PathValue(name string) string { return p.c.Param(name) }

// routeOf returns the pattern that the request matched, or "": Path may be set even if none
// matched. It keeps the patterns of each router in known.
func routeOf(c echo.Context, r *http.Request, known *sync.Map) string {
	router, host, path := c.Echo().Router(), "", c.Path()
	if own := c.Echo().Routers()[r.Host]; own != nil {
		router, host = own, r.Host
	}
	noted, _ := known.Load(router)
	has, ok := noted.(map[[2]string]bool)
	if !ok {
		has = make(map[[2]string]bool)
		catches := false
		for _, route := range router.Routes() {
			has[[2]string{route.Method, route.Path}] = true
			catches = catches || route.Method == echo.RouteNotFound
		}
		if !catches {
			has = nil // there is nothing to look up
		}
		known.Store(router, has)
	}
	if path == "" || isMissing(c) || c.Get(echo.ContextKeyHeaderAllow) != nil || has[[2]string{echo.RouteNotFound, path}] && !has[[2]string{r.Method, path}] {
		return ""
	}
	return host + path
}

// isMissing reports whether no route matches. For such a request Path is the request's own
// path in echo v4.10.0.
func isMissing(c echo.Context) bool {
	return reflect.ValueOf(c.Handler()).Pointer() == reflect.ValueOf(echo.NotFoundHandler).Pointer()
}

const contextKey = "github.com/footfall-dev/footfall" // in echo's store

// Track is footfall.Track for the request of c, below the middleware and in the
// HTTPErrorHandler. The error is footfall.ErrNoTracker without a middleware above or with
// Config.NoContextValue. In a goroutine that outlives the handler, call footfall.Track with
// the request's context.
func Track(c echo.Context, name string, props ...footfall.Prop) error {
	err := footfall.TrackRoute(c.Request().Context(), c.Path(), name, props...)
	if ctx, ok := c.Get(contextKey).(context.Context); ok && errors.Is(err, footfall.ErrNoTracker) {
		return footfall.TrackRoute(ctx, c.Path(), name, props...)
	}
	return err
}

// CheckRules returns an error that joins a *footfall.FieldError for every rule that is wrong
// or whose route e does not have, with its hosts. Call it at start-up, after the routes are
// registered. It returns nil for a nil or disabled tracker.
func CheckRules(tracker *footfall.Tracker, e *echo.Echo, rules ...footfall.Rule) error {
	var registered []string
	routers := map[string]*echo.Router{"": e.Router()}
	maps.Copy(routers, e.Routers())
	for host, router := range routers {
		for _, route := range router.Routes() {
			if route.Method != echo.RouteNotFound {
				registered = append(registered, route.Method+" "+host+route.Path)
			}
		}
	}
	return tracker.CheckRoutes(registered, rules...)
}
