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

	"github.com/labstack/echo/v4"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/internal/echovisit"
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
			p := &echovisit.Passage[echo.Context]{C: c, Visit: set.Visit(c.Request()), Came: c.Request()}
			p.Inner = p.Visit.Request()
			if c.Path() == "" || isMissing(c) { // in Pre, or no route matches
				p.Inner = p.Came
				c.Set(contextKey, p.Visit.Request().Context())
			} else {
				p.Visit.SetRoute(c.Path())
			}
			answer := c.Response()
			answer.Writer = p.Visit.Writer(answer.Writer)
			defer func() { end(p, recover(), routeOf(c, p.Came, known), answer) }()
			return p.Run(next)
		}
	}
}

func end(p *echovisit.Passage[echo.Context], panicked any, route string, answer *echo.Response) {
	var later func(func(status int, header http.Header))
	if p.Err != nil {
		later = func(then func(status int, header http.Header)) {
			answer.Before(func() { then(answer.Status, answer.Header()) })
		}
	}
	p.End(panicked, footfall.Observation{Route: route, Status: http.StatusOK, Header: answer.Header()}, later)
}

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
		for _, route := range routesOf(c.Echo(), router) {
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

// routesOf lists the routes of a router of e. Before v4.10, echo lists the routes of all hosts
// together, so CheckRules accepts a route of another host that e knows.
func routesOf(e *echo.Echo, router *echo.Router) []*echo.Route {
	if lister, ok := any(router).(interface{ Routes() []*echo.Route }); ok {
		return lister.Routes()
	}
	return e.Routes()
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
		for _, route := range routesOf(e, router) {
			if route.Method != echo.RouteNotFound {
				registered = append(registered, route.Method+" "+host+route.Path)
			}
		}
	}
	return tracker.CheckRoutes(registered, rules...)
}
