// Package footfallfiber is footfall's middleware for Fiber v3.
package footfallfiber

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"sync"

	"github.com/gofiber/fiber/v3"
	"github.com/valyala/fasthttp"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/internal/fiberpattern"
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
	rules = fiberpattern.Rules(rules)
	set := tracker.Rules(rules...)
	m := &middleware{tracker: tracker, rules: set, headers: set.Headers()}
	if tracker.CheckRoutes(nil, footfall.Rule{}) != nil { // only a nil or disabled tracker takes a rule without a route
		m.named = fiberpattern.NamedBy(rules)
	}
	return m.handle
}

// Track is footfall.Track with c.Context(), never with c itself. In a goroutine that
// outlives the handler call that instead, with the context taken before. The error is
// footfall.ErrNoTracker without the middleware or with Config.NoContextValue.
func Track(c fiber.Ctx, name string, props ...footfall.Prop) error {
	m, ok := c.RequestCtx().UserValue(middlewareKey{}).(*middleware)
	if !ok {
		return footfall.Track(c.Context(), name, props...)
	}
	return footfall.TrackRoute(c.Context(), m.routes(c.App())[c.Route()].pattern, name, props...)
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

type middleware struct {
	tracker *footfall.Tracker
	rules   *footfall.Rules
	named   fiberpattern.Named // nil for a nil or disabled tracker
	headers footfall.Headers
	apps    sync.Map // *fiber.App to map[*fiber.Route]route
}

// visit is one request on its way through the middleware. Fiber's strings are views of
// buffers that are used again, so the middleware copies every string that it keeps.
type visit struct {
	*middleware
	c        fiber.Ctx
	above    context.Context // of the middlewares above
	page     footfall.Page
	request  http.Request // what is needed of it
	url      url.URL
	returned bool // the handler did, without a panic
}

func (m *middleware) handle(c fiber.Ctx) error {
	if c.RequestCtx().UserValue(m) != nil {
		return c.Next() // RestartRouting: the request is being watched
	}
	v := visit{middleware: m, c: c, above: c.Context()}
	v.note()
	c.SetContext(m.tracker.WithPage(v.above, v.page))
	c.RequestCtx().SetUserValue(m, true)
	c.RequestCtx().SetUserValue(middlewareKey{}, m)
	defer v.end()
	err := c.Next()
	if err != nil && v.asked() {
		if err = c.App().ErrorHandler(c, err); err != nil {
			err = c.SendStatus(fiber.StatusInternalServerError) // as Fiber does
		}
	}
	v.returned = true
	return err
}

// note takes the page of the request, before a handler can change it.
func (v *visit) note() {
	ctx, uri := v.c.RequestCtx(), v.c.Request().URI()
	buffer := append(append(append(make([]byte, 0, 256), uri.Host()...), uri.PathOriginal()...), uri.QueryString()...)
	host, path, query := len(uri.Host()), len(uri.Host())+len(uri.PathOriginal()), len(buffer)
	if peer, ok := ctx.RemoteAddr().(*net.TCPAddr); ok && (v.headers.All || len(v.headers.Page) > 0) {
		buffer = netip.AddrPortFrom(peer.AddrPort().Addr().Unmap(), uint16(peer.Port)).AppendTo(buffer)
	}
	text := string(buffer) // one copy of all
	v.url = url.URL{Path: text[host:path], RawQuery: text[path:query]}
	if plain, err := url.PathUnescape(v.url.Path); err == nil && plain != v.url.Path {
		v.url.Path, v.url.RawPath = plain, v.url.Path
	}
	v.request = http.Request{Method: v.c.Route().Method, Host: text[:host], URL: &v.url, RemoteAddr: text[query:], TLS: ctx.TLSConnectionState()}
	v.header(v.headers.Page, false)
	v.page = v.tracker.Page(&v.request)
}

// end is deferred. It passes on a panic with its value.
func (v *visit) end() {
	panicked := recover()
	if route, asked := v.route(); asked {
		v.observe(route, panicked)
	}
	if panicked != nil {
		panic(panicked)
	}
}

func (v *visit) observe(route string, panicked any) {
	o := footfall.Observation{Method: v.c.Method(), Route: route, Page: v.page, Path: v, Context: v.above, Request: &v.request, Status: v.c.Response().StatusCode(), Header: answer{v.c.Response()}}
	if late := v.c.RequestCtx().LastTimeoutErrorResponse(); late != nil {
		o.Status, o.Header = late.StatusCode(), answer{late} // the handler goes on, and may be using the headers
	} else if v.headers.Needed(v.request.Method) {
		v.header(v.headers.Observed, v.headers.All)
	}
	err, _ := panicked.(error)
	switch {
	case errors.Is(err, http.ErrAbortHandler), panicked == nil && !v.returned: // runtime.Goexit
		o.Aborted = true
	case panicked != nil:
		o.Status = http.StatusInternalServerError
	}
	v.rules.Observe(&o)
}

// header copies these headers, or all.
func (v *visit) header(names []string, all bool) {
	v.request.Header = nil
	for name, value := range v.c.Request().Header.All() { // one pass is cheaper than a Peek for each
		if all || slices.Contains(names, string(name)) {
			if v.request.Header == nil {
				v.request.Header = make(http.Header)
			}
			v.request.Header.Add(string(name), string(value))
		}
	}
}

// answer implements footfall.Header. The values are looked at and not kept.
type answer struct{ *fasthttp.Response }

// Get implements footfall.Header.
func (a answer) Get(name string) string { return string(a.Header.Peek(name)) }

func (v *visit) asked() bool { _, asked := v.route(); return asked }

// PathValue implements footfall.PathValuer. The value is encoded at once.
func (v *visit) PathValue(name string) string { return v.c.Params(name) }

// route returns the route that answered, "" for none, and whether a rule may apply.
func (v *visit) route() (route string, asked bool) {
	answered, found := v.routes(v.c.App())[v.c.Route()]
	return answered.pattern, answered.asked || !found && v.named[footfall.NoRoute]
}

// middlewareKey is the key of the *middleware in a request.
type middlewareKey struct{}

// route is a registered route.
type route struct {
	pattern string // with the method
	asked   bool   // a rule may apply
}

// routes returns the routes of app, without the handlers of Use. Only GetRoutes leaves
// these out. It returns copies, which are recognized by their handlers.
func (m *middleware) routes(app *fiber.App) map[*fiber.Route]route {
	if known, ok := m.apps.Load(app); ok {
		return known.(map[*fiber.Route]route)
	}
	routes, routed := make(map[*fiber.Route]route), make(map[*fiber.Handler]bool)
	for _, r := range app.GetRoutes(true) {
		for i := range r.Handlers {
			routed[&r.Handlers[i]] = true
		}
	}
	for _, stack := range app.Stack() {
		for _, r := range stack {
			if len(r.Handlers) > 0 && routed[&r.Handlers[0]] {
				path := fiberpattern.Canonical(r.Path)
				routes[r] = route{pattern: r.Method + " " + path, asked: m.named.Asked(path)}
			}
		}
	}
	m.apps.Store(app, routes)
	return routes
}
