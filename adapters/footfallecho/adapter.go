// Package footfallecho is Footfall's middleware for echo v5.
//
//	e := echo.New()
//	e.Use(footfallecho.Middleware(tracker,
//		footfall.Rule{Route: "POST /checkout", Event: "checkout_completed", Status: footfall.Success},
//		footfall.Rule{Route: "GET /users/:id", Event: "user_viewed", PathProps: []string{"id"}},
//	), middleware.Recover())
//
// Rule.Route is a method and echo's own full pattern, as echo.Context.Path gives it: the
// prefixes of all groups, :name, and * for the rest. Without a method the rule holds for
// any. It has no host: each Echo of echo.NewVirtualHostHandler has its own rules.
package footfallecho

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v5"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/internal/echovisit"
)

// Middleware returns a middleware that makes events of answered requests, as rules
// say, and lets Track find tracker and page. Wrong rules are logged and left
// out: see CheckRules. A nil or disabled tracker makes no events.
//
// Register it with Echo.Use, before other middlewares, to see the requests that they
// refuse. With Echo.Pre, a middleware that rewrites the path afterwards does not change the
// page. It also works on a group or a route. A request that no route matches, or only one of
// Echo.RouteNotFound, makes an event if the answer is 404 or 405 and a rule is for
// footfall.NoRoute.
//
// The middleware returns errors unchanged; echo calls its HTTPErrorHandler once. The
// events are made when the answer to the error begins, with the answer's status; an error
// without an answer makes none. Above middleware.Recover, a panic is such an error. Below
// it, a panic is recorded as status 500 and passed on with its value.
// http.ErrAbortHandler is footfall.Aborted on both sides.
//
// Below it, the request of echo.Context is a copy with another context, unless
// Config.NoContextValue is set. Afterwards it is the original request again, with the changes
// that handlers made to the copy, such as a multipart form whose files the server removes.
// After an error the copy stays, so that Track works in the HTTPErrorHandler.
//
// It may serve several Echos and concurrent requests, and keeps nothing of a request.
func Middleware(tracker *footfall.Tracker, rules ...footfall.Rule) echo.MiddlewareFunc {
	set := tracker.Rules(rules...)
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c *echo.Context) error {
			p := &passage{Passage: echovisit.Passage[*echo.Context]{C: c, Visit: set.Visit(c.Request()), Came: c.Request()}}
			if p.answer, _ = echo.UnwrapResponse(c.Response()); p.answer != nil {
				p.answer.ResponseWriter = p.Visit.Writer(p.answer.ResponseWriter)
			}
			p.Visit.SetRoute(routeOf(c)) // none in Pre
			p.Inner = p.Visit.Request()
			defer func() { p.end(recover()) }()
			return p.Run(next)
		}
	}
}

// passage is one request on its way through the handlers below the middleware.
type passage struct {
	echovisit.Passage[*echo.Context]
	answer *echo.Response // nil if some middleware's writer hides it
}

func (p *passage) end(panicked any) {
	for _, v := range p.C.PathValues() { // which echo.WrapHandler sets, and Visit.End does not know
		if value := p.Inner.PathValue(v.Name); value != "" {
			p.Came.SetPathValue(v.Name, value)
		}
	}
	o := footfall.Observation{Route: routeOf(p.C), Status: http.StatusOK, Header: p.C.Response().Header()}
	var later func(func(status int, header http.Header))
	if p.answer == nil {
		_, o.Status = echo.ResolveResponseStatus(p.C.Response(), p.Err)
	} else if p.Err != nil {
		later = watch(p.answer)
	}
	p.End(panicked, o, later)
}

// watch returns a function that calls then when an answer begins. It also watches the Responses
// around the first, if they can be reached: a net/http middleware above replaces the Response
// only while it runs.
func watch(first *echo.Response) func(then func(status int, header http.Header)) {
	return func(then func(status int, header http.Header)) {
		for answer := first; answer != nil; answer, _ = echo.UnwrapResponse(answer.ResponseWriter) {
			answer.Before(func() { then(answer.Status, answer.Header()) })
		}
	}
}

// routeOf returns the pattern that the request matched, or "". Path is set if none did, too.
func routeOf(c *echo.Context) string {
	if method := c.RouteInfo().Method; method == "" || method == echo.RouteNotFound {
		return ""
	}
	return c.Path()
}

// Track is footfall.Track for the request of c, below the middleware and in the
// HTTPErrorHandler. Without a middleware above, or with Config.NoContextValue, the error is
// footfall.ErrNoTracker: use Tracker.TrackRequest with c.Request there. In a goroutine that
// outlives the handler, call footfall.Track with the request's context.
func Track(c *echo.Context, name string, props ...footfall.Prop) error {
	return footfall.TrackRoute(c.Request().Context(), routeOf(c), name, props...)
}

// CheckRules returns an error that joins a *footfall.FieldError for every rule that is wrong
// or whose route e does not have. Call it at start-up, after the routes are registered, to
// refuse a start with rules that never apply. It returns nil for a nil or disabled tracker.
func CheckRules(tracker *footfall.Tracker, e *echo.Echo, rules ...footfall.Rule) error {
	var registered []string
	for _, route := range e.Router().Routes() {
		if route.Method != echo.RouteNotFound {
			registered = append(registered, strings.TrimPrefix(route.Method+" "+route.Path, echo.RouteAny+" "))
		}
	}
	return tracker.CheckRoutes(registered, rules...)
}
