// Package footfallfiberv2 is footfall's middleware for Fiber v2.
package footfallfiberv2

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/internal/fiberpattern"
	"github.com/footfall-dev/footfall/adapters/internal/fibervisit"
)

// Middleware returns a middleware that makes events of answered requests, as rules
// say, and lets Track find tracker and page in the request's context. Use it before the
// routes, on the app or a group, below recover.New(). It serves many requests at once.
//
// A rule's Route is method and full path as Fiber has them, with the prefixes of
// groups and mounts: "GET /users/:id", or "/files/*" for any method. Errors and pages
// have {from}-:to for :from-:to, and {+...} for +. A handler of Use is not a route: if
// no other handler answers, a 404 or 405 counts for footfall.NoRoute.
//
// A panic is recorded as status 500, http.ErrAbortHandler as footfall.Aborted, and
// goes on with the same value. An error is recorded with the status that the client
// sees: if a rule may apply, the middleware calls the app's ErrorHandler and the error
// goes no further, as in Fiber's own logger. Otherwise it is returned unchanged.
//
// Config.Skip sees no body and no context. A nil or disabled tracker changes nothing.
func Middleware(tracker *footfall.Tracker, rules ...footfall.Rule) fiber.Handler {
	m := fibervisit.New[request](tracker, rules)
	return func(c *fiber.Ctx) error { return m.Handle(request{c}) }
}

// Track is footfall.Track with c.UserContext(), never with c.Context(). In a goroutine
// that outlives the handler call that instead, with the context taken before. The error
// is footfall.ErrNoTracker without the middleware or with Config.NoContextValue.
func Track(c *fiber.Ctx, name string, props ...footfall.Prop) error {
	return fibervisit.Track(request{c}, name, props...)
}

// CheckRules returns an error that joins a *footfall.FieldError for every rule that
// is wrong or whose route is not registered in app. Call it last before the app
// listens: it makes the app ready as Listen does, so no mounts may follow.
func CheckRules(tracker *footfall.Tracker, app *fiber.App, rules ...footfall.Rule) error {
	app.Handler() // mounted apps hand over their routes
	var registered []string
	for _, r := range app.GetRoutes(true) {
		registered = append(registered, r.Method+" "+fiberpattern.Canonical(r.Path))
	}
	return tracker.CheckRoutes(registered, fiberpattern.Rules(rules)...)
}

// request implements fibervisit.Context.
type request struct{ *fiber.Ctx }

func (r request) Context() context.Context       { return r.UserContext() }
func (r request) SetContext(ctx context.Context) { r.SetUserContext(ctx) }
func (r request) Fast() fibervisit.Fast          { return r.Ctx.Context() }
func (r request) URI() fibervisit.URI            { return r.Request().URI() }
func (r request) AppKey() any                    { return r.App() }
func (r request) Fail(err error) error           { return r.App().ErrorHandler(r.Ctx, err) }

func (r request) Route() (key any, method string) {
	route := r.Ctx.Route()
	return route, route.Method
}

func (r request) EachHeader(do func(name, value []byte)) { r.Request().Header.VisitAll(do) }

func (r request) Answer() (status int, header fibervisit.Peeker, late bool) {
	if late := r.Ctx.Context().LastTimeoutErrorResponse(); late != nil {
		return late.StatusCode(), &late.Header, true
	}
	return r.Response().StatusCode(), &r.Response().Header, false
}

func (r request) Routes() map[any][2]string {
	handlers := func(r *fiber.Route) []fiber.Handler { return r.Handlers }
	describe := func(r *fiber.Route) [2]string { return [2]string{r.Method, r.Path} }
	return fibervisit.Routes(r.App().GetRoutes(true), r.App().Stack(), handlers, describe)
}
