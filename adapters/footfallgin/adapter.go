// Package footfallgin is Footfall's middleware for gin.
//
//	router := gin.New()
//	router.Use(footfallgin.Middleware(tracker,
//		footfall.Rule{Route: "POST /checkout", Event: "checkout_completed", Status: footfall.Success},
//		footfall.Rule{Route: "GET /users/:id", Event: "user_viewed", PathProps: []string{"id"}},
//	), gin.Recovery())
//
// Rule.Route is a method and gin's own full pattern, as gin.Context.FullPath gives it:
// the prefixes of all groups, :name, and *name, whose value begins with a slash as in
// gin. A colon that is registered as \: is written without the backslash. Without a method
// the rule holds for any. Routes of gin have no host, so a rule with one never applies.
package footfallgin

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/internal/ending"
)

// Middleware returns a middleware that makes events of answered requests, as rules
// say, and lets Track find tracker and page. Wrong rules are logged and left
// out: see CheckRules. A nil or disabled tracker makes no events.
//
// Register it with Engine.Use, before other middlewares: it then records the status
// that they answer with, for example for gin.Context.Errors, and sees the requests that
// they refuse. It also works on a group or a route. Requests that no route matches
// (404, and 405 if HandleMethodNotAllowed is set) pass the engine's middlewares only.
// They make an event if a rule is for footfall.NoRoute. A handler of Engine.NoRoute that
// answers with another status, as with a page for every path, can call Track. Redirects
// by the engine itself pass no middleware.
//
// It works on either side of gin.Recovery. Above it, a panic is recorded with the
// status that the recovery answers with. Below it, as after gin.Default, a panic is
// recorded as status 500 and passed on to the recovery with its value.
// http.ErrAbortHandler is recorded as footfall.Aborted on both sides.
//
// While the handlers below run, gin.Context.Request is a copy with another context,
// unless Config.NoContextValue is set. Afterwards it is the original request again, with
// the changes that handlers made to the copy, unless a handler replaced it. The files of
// a multipart form are therefore removed as without the middleware.
//
// If a handler calls Engine.HandleContext, gin runs its middlewares again, and the events
// of both routes are made.
//
// The middleware may serve several engines and concurrent requests. It starts no
// goroutine and keeps nothing of a request.
func Middleware(tracker *footfall.Tracker, rules ...footfall.Rule) gin.HandlerFunc {
	set := tracker.Rules(rules...)
	wantsParams := slices.ContainsFunc(rules, func(r footfall.Rule) bool { return len(r.PathProps) > 0 })
	return func(c *gin.Context) {
		p := passage{c: c, came: c.Request, visit: set.Visit(c.Request), route: c.FullPath()}
		if wantsParams {
			p.path = params(slices.Clone(c.Params)) // HandleContext writes over them
		}
		p.visit.SetRoute(p.route)
		c.Request = p.visit.Request()
		defer p.end()
		c.Next()
		p.returned = true
	}
}

// passage is one request on its way through the handlers below the middleware.
type passage struct {
	c        *gin.Context
	came     *http.Request
	visit    footfall.Visit
	route    string // set before the handlers run, because HandleContext changes it
	path     footfall.PathValuer
	returned bool
}

// end is deferred. It passes on a panic with its value.
func (p *passage) end() {
	panicked := recover()
	p.visit.End(p.observation(panicked))
	if p.c.Request == p.visit.Request() {
		p.c.Request = p.came
	}
	if panicked != nil {
		panic(panicked)
	}
}

func (p *passage) observation(panicked any) footfall.Observation {
	o := footfall.Observation{Route: p.route, Path: p.path, Status: p.c.Writer.Status(), Header: p.c.Writer.Header()}
	if !ending.Early(&o, panicked, p.returned) {
		o.Aborted = slices.ContainsFunc(p.c.Errors, isAbort)
	}
	return o
}

// isAbort reports whether a gin.Recovery below recovered http.ErrAbortHandler, which it adds to
// the context's errors.
func isAbort(e *gin.Error) bool { return errors.Is(e.Err, http.ErrAbortHandler) }

// params are the values of a route's wildcards.
type params gin.Params

// PathValue implements footfall.PathValuer.
func (p params) PathValue(name string) string { return gin.Params(p).ByName(name) }

// Track accepts an event for the tracker and the page of c's request, below the
// middleware. It is footfall.Track with the context of c.Request, so it does not need
// ContextWithFallback; code that has only that context calls footfall.Track. The errors
// are the errors of Tracker.Track, and footfall.ErrNoTracker without a middleware above or
// with Config.NoContextValue: use Tracker.TrackRequest with c.Request there.
//
// Like Tracker.Track it never blocks. In a goroutine that outlives the request,
// use c.Copy(), as with all of gin.
func Track(c *gin.Context, name string, props ...footfall.Prop) error {
	if c.Request == nil { // a context made by a test
		return footfall.ErrNoTracker
	}
	return footfall.Track(c.Request.Context(), name, props...)
}

// CheckRules returns an error that joins a *footfall.FieldError for every rule that is
// wrong or whose route is not registered in the engine, with the groups' prefixes. Call
// it at start-up, after the routes are registered, to refuse a start with rules that
// never apply. It returns nil for a nil or disabled tracker.
func CheckRules(tracker *footfall.Tracker, engine *gin.Engine, rules ...footfall.Rule) error {
	var registered []string
	for _, route := range engine.Routes() {
		path := strings.ReplaceAll(route.Path, `\:`, ":") // as FullPath has it, once the engine serves
		registered = append(registered, route.Method+" "+path)
	}
	return tracker.CheckRoutes(registered, rules...)
}
