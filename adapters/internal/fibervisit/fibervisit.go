// Package fibervisit is the middleware of the adapters for Fiber v2 and v3.
//
// An adapter may be built with a later version of this package than its own: what is exported
// keeps its name and its meaning, and interfaces get no more methods.
package fibervisit

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"sync"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/internal/ending"
	"github.com/footfall-dev/footfall/adapters/internal/fiberpattern"
)

// Context is a request, as a version of Fiber has it.
type Context interface {
	Context() context.Context // of the handlers
	SetContext(context.Context)
	Next() error
	Method(override ...string) string
	Params(name string, or ...string) string
	SendStatus(status int) error

	Fast() Fast
	URI() URI
	EachHeader(do func(name, value []byte))
	// Answer returns the answer as it is now. late means that it is for a handler that goes on.
	Answer() (status int, header Peeker, late bool)
	// Fail answers an error with the ErrorHandler of the app.
	Fail(error) error
	// Route returns the key of the route that is being handled, and its method.
	Route() (key any, method string)
	// AppKey is the key of the app that has the route.
	AppKey() any
	// Routes returns method and path of the routes of the app by their keys, without the
	// handlers of Use.
	Routes() map[any][2]string
}

// Fast is a *fasthttp.RequestCtx.
type Fast interface {
	UserValue(key any) any
	SetUserValue(key, value any)
	RemoteAddr() net.Addr
	TLSConnectionState() *tls.ConnectionState
}

// URI is a *fasthttp.URI.
type URI interface {
	Host() []byte
	PathOriginal() []byte
	QueryString() []byte
}

// Peeker is a *fasthttp.ResponseHeader.
type Peeker interface{ Peek(name string) []byte }

// Middleware makes events of the requests that it handles.
type Middleware[C Context] struct {
	tracker *footfall.Tracker
	rules   *footfall.Rules
	named   fiberpattern.Named // nil for a nil or disabled tracker
	headers footfall.NeededHeaders
	apps    sync.Map // AppKey to map[any]route
}

// New returns a middleware for rules as the application has them.
func New[C Context](tracker *footfall.Tracker, rules []footfall.Rule) *Middleware[C] {
	rules = fiberpattern.Rules(rules)
	set := tracker.Rules(rules...)
	m := &Middleware[C]{tracker: tracker, rules: set, headers: set.NeededHeaders()}
	if tracker.CheckRoutes(nil, footfall.Rule{}) != nil { // only a nil or disabled tracker takes a rule without a route
		m.named = fiberpattern.NamedBy(rules)
	}
	return m
}

// Track is the adapter's.
func Track[C Context](c C, name string, props ...footfall.Prop) error {
	m, ok := c.Fast().UserValue(middlewareKey{}).(*Middleware[C])
	if !ok {
		return footfall.Track(c.Context(), name, props...)
	}
	key, _ := c.Route()
	return footfall.TrackRoute(c.Context(), m.routes(c)[key].pattern, name, props...)
}

// middlewareKey is the key of the *Middleware in a request.
type middlewareKey struct{}

// visit is one request on its way through the middleware. Fiber's strings are views of
// buffers that are used again, so the middleware copies every string that it keeps.
type visit[C Context] struct {
	*Middleware[C]
	c        C
	above    context.Context // of the middlewares above
	page     footfall.Page
	request  http.Request // what is needed of it
	url      url.URL
	answer   Peeker
	returned bool // the handler did, without a panic
}

// Handle is the handler of the middleware.
func (m *Middleware[C]) Handle(c C) error {
	if c.Fast().UserValue(m) != nil {
		return c.Next() // RestartRouting: the request is being watched
	}
	v := visit[C]{Middleware: m, c: c, above: c.Context()}
	v.note()
	c.SetContext(m.tracker.WithPage(v.above, v.page))
	c.Fast().SetUserValue(m, true)
	c.Fast().SetUserValue(middlewareKey{}, m)
	defer v.end()
	err := c.Next()
	if err != nil && v.asked() {
		if err = c.Fail(err); err != nil {
			err = c.SendStatus(http.StatusInternalServerError) // as Fiber does
		}
	}
	v.returned = true
	return err
}

// note takes the page of the request, before a handler can change it.
func (v *visit[C]) note() {
	fast, uri := v.c.Fast(), v.c.URI()
	buffer := append(append(append(make([]byte, 0, 256), uri.Host()...), uri.PathOriginal()...), uri.QueryString()...)
	host, path, query := len(uri.Host()), len(uri.Host())+len(uri.PathOriginal()), len(buffer)
	if peer, ok := fast.RemoteAddr().(*net.TCPAddr); ok && (v.headers.All || len(v.headers.Page) > 0) {
		buffer = netip.AddrPortFrom(peer.AddrPort().Addr().Unmap(), uint16(peer.Port)).AppendTo(buffer)
	}
	text := string(buffer) // one copy of all
	v.url = url.URL{Path: text[host:path], RawQuery: text[path:query]}
	if plain, err := url.PathUnescape(v.url.Path); err == nil && plain != v.url.Path {
		v.url.Path, v.url.RawPath = plain, v.url.Path
	}
	_, method := v.c.Route()
	v.request = http.Request{Method: method, Host: text[:host], URL: &v.url, RemoteAddr: text[query:], TLS: fast.TLSConnectionState()}
	v.header(v.headers.Page, false)
	v.page = v.tracker.Page(&v.request)
}

// end is deferred. It passes on a panic with its value.
func (v *visit[C]) end() {
	panicked := recover()
	if route, asked := v.route(); asked {
		v.observe(route, panicked)
	}
	if panicked != nil {
		panic(panicked)
	}
}

func (v *visit[C]) observe(route string, panicked any) {
	status, header, late := v.c.Answer()
	v.answer = header
	o := footfall.Observation{Method: v.c.Method(), Route: route, Page: v.page, Path: v, Context: v.above, Request: &v.request, Status: status, Header: v}
	if !late && v.headers.Needed(v.request.Method) { // a handler that goes on may be using the headers
		v.header(v.headers.Observed, v.headers.All)
	}
	ending.Early(&o, panicked, v.returned)
	v.rules.Observe(&o)
}

// header copies these headers of the request, or all.
func (v *visit[C]) header(names []string, all bool) {
	v.request.Header = nil
	if len(names) == 0 && !all {
		return
	}
	v.c.EachHeader(func(name, value []byte) { // one pass is cheaper than a Peek for each
		if all || slices.Contains(names, string(name)) {
			if v.request.Header == nil {
				v.request.Header = make(http.Header)
			}
			v.request.Header.Add(string(name), string(value))
		}
	})
}

// Get implements footfall.HeaderGetter for the answer. The values are looked at and not kept.
func (v *visit[C]) Get(name string) string { return string(v.answer.Peek(name)) }

// PathValue implements footfall.PathValuer. The value is encoded at once.
func (v *visit[C]) PathValue(name string) string { return v.c.Params(name) }

func (v *visit[C]) asked() bool { _, asked := v.route(); return asked }

// route returns the route that answered, "" for none, and whether a rule may apply.
func (v *visit[C]) route() (pattern string, asked bool) {
	key, _ := v.c.Route()
	answered, found := v.routes(v.c)[key]
	return answered.pattern, answered.asked || !found && v.named[footfall.NoRoute]
}

// route is a registered route.
type route struct {
	pattern string // with the method
	asked   bool   // a rule may apply
}

// routes returns the routes of the request's app.
func (m *Middleware[C]) routes(c C) map[any]route {
	app := c.AppKey()
	if known, ok := m.apps.Load(app); ok {
		return known.(map[any]route)
	}
	routes := make(map[any]route)
	for key, r := range c.Routes() {
		path := fiberpattern.Canonical(r[1])
		routes[key] = route{pattern: r[0] + " " + path, asked: m.named.Asked(path)}
	}
	m.apps.Store(app, routes)
	return routes
}

// Routes returns the routes of an app's stack without the handlers of Use, which only the
// list leaves out. The list has copies, which are recognized by their handlers.
func Routes[R, H any](list []R, stack [][]*R, handlers func(*R) []H, describe func(*R) [2]string) map[any][2]string {
	routes, routed := make(map[any][2]string), make(map[*H]bool)
	for i := range list {
		hs := handlers(&list[i])
		for j := range hs {
			routed[&hs[j]] = true
		}
	}
	for _, rs := range stack {
		for _, r := range rs {
			if hs := handlers(r); len(hs) > 0 && routed[&hs[0]] {
				routes[r] = describe(r)
			}
		}
	}
	return routes
}
