// Package fibertest makes a subject of adaptertest of Fiber v2 or v3, and has the rows that only
// Fiber has. The subject serves both versions: it has type parameters for their types, and
// functions for the few names that differ.
package fibertest

import (
	"bufio"
	"context"
	"errors"
	"maps"
	"mime/multipart"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/adaptertest"
)

// Context has the methods that Fiber's context has in all versions.
type Context interface {
	Get(header string, or ...string) string
	Set(header, value string)
	MultipartForm() (*multipart.Form, error)
	Next() error
	Params(name string, or ...string) string
	Path(override ...string) string
	RestartRouting() error
	SendStatus(status int) error
	SendString(text string) error
}

// Router is a fiber.Router: an app or a group.
type Router[R any] interface {
	Use(args ...any) R
	Route(prefix string, fill func(R), name ...string) R
}

// Handlers are handlers of Fiber, including middlewares.
type Handlers[C any] = []func(C) error

// Config has the fields of fiber.Config that tests change.
type Config[C any] struct {
	Strict    bool
	BodyLimit int
	OnError   func(C, error) error // nil for Fiber's own ErrorHandler
}

// Subject is the adapter for one version, and that version.
type Subject[C Context, R Router[R]] struct {
	Middleware func(*footfall.Tracker, ...footfall.Rule) func(C) error
	Track      func(c C, name string, props ...footfall.Prop) error
	CheckRules func(tracker *footfall.Tracker, app R, rules ...footfall.Rule) error

	// MountKeepsCase says that this version does not write the prefix of a mounted app in
	// lower case.
	MountKeepsCase bool

	New   func(Config[C]) R                                    // an app
	Add   func(r R, method, path string, handlers Handlers[C]) // an empty method is All
	Group func(r R, prefix string, handlers Handlers[C]) R
	Mount func(r R, prefix string, app R)
	// Listen serves an app until Shutdown, which waits until all is answered.
	Listen   func(app R, l net.Listener) error
	Shutdown func(app R, most time.Duration) error
	// Serve is the adapter's Run. OnListen and OnShutdown add hooks to an app.
	Serve      func(ctx context.Context, tracker *footfall.Tracker, app R, addr string) error
	OnListen   func(app R, do func())
	OnShutdown func(app R, do func())
	// Requests returns a function that sends a request with this head for path to an
	// app, in the caller's goroutine and at almost no cost.
	Requests func(tb testing.TB, app R, path, head string) func()

	Context   func(C) context.Context
	Continue  func(C, context.Context) // sets the context of the handlers below
	SetHost   func(C, string)          // of the request
	SetStatus func(C, int)
	Error     func(status int) error
	// DefaultError is Fiber's own ErrorHandler.
	DefaultError func(C, error) error
	Break        func(C) error // closes the connection
	SendFile     func(c C, name string) error
	Stream       func(c C, write func(*bufio.Writer))
	TooLate      func(c C, status int)            // answers for a handler that goes on
	Upgrade      func(c C, talk func(Conn)) error // to a WebSocket
	Recover      func() func(C) error
	// Timeout is a handler below Fiber's middleware for timeouts, which answers 408.
	Timeout func(ended <-chan struct{}) func(C) error
	// Adapt is Fiber's adaptor for handlers of net/http. Raw does what the adaptor does
	// not; it is nil where that is impossible.
	Adapt func(http.HandlerFunc) func(C) error
	Raw   func(C) Raw

	// Nested is a further way to compose routers: it adds a handler for GET /api/users/:id. It is
	// nil if this version has none.
	Nested func(app R, h func(C) error)

	// Impossible has rows that are impossible with this version only.
	Impossible map[string]string
}

// Conn is a WebSocket's.
type Conn interface {
	ReadMessage() (kind int, text []byte, err error)
	WriteMessage(kind int, text []byte) error
}

// patience bounds each wait.
const patience = 15 * time.Second

var errFails = errors.New("it fails")

func next[C Context](c C) error { return c.Next() }

func fine[C Context](c C) error { return c.SendString("fine") }

// get registers a route for GET.
func (s Subject[C, R]) get(r R, path string, handlers ...func(C) error) {
	s.Add(r, "GET", path, handlers)
}

// on registers a route of a stage's app for GET.
func (s Subject[C, R]) on(st *adaptertest.Stage, path string, handlers ...func(C) error) {
	s.get(s.fiber(st.App), path, handlers...)
}

// Adapter is the subject for adaptertest.
func (s Subject[C, R]) Adapter() adaptertest.Subject {
	a := adaptertest.Subject{
		Readme:      "../README.md",
		New:         func() adaptertest.App { return s.app(false) },
		Strict:      func() adaptertest.App { return s.app(true) },
		Pattern:     adaptertest.Replace(":", "*"),
		AbortStatus: http.StatusInternalServerError,
		Host:        s.host,
		OnError: func(a adaptertest.App, answer func(adaptertest.Context, error)) {
			a.(*app[C, R]).onError = func(c C, err error) error {
				answer(request[C, R]{c, s}, err)
				return nil
			}
		},
		Values: []adaptertest.Values{
			{Pattern: "/files/:folder/*", Path: "/files/a/b/c.txt", Want: map[string]any{"folder": "a", "*": "b/c.txt"}},
			{Pattern: "/users/:id?", Path: "/users", Want: map[string]any{"id": ""}},
			{Pattern: "/items/:id<int>", Path: "/items/42", Want: map[string]any{"id": "42"}},
		},
		Known: "POST /api/users", Register: s.register,
		Impossible: map[string]string{
			"above the recovery a panic is recorded with the status of its answer": "Fiber's recovery makes an error of every panic, http.ErrAbortHandler too: the middleware stands below it",
			"a refusal by a middleware below is recorded":                          "Fiber finds the route after its middlewares, so the answer of a middleware has none",
			"Track in the handler knows the route":                                 "Fiber finds the route after the middleware has run, and footfall.Track has only the context. On its page the guard sees only the text of each segment, and PageRoute is PagePath. Track of this package knows the route",
			"an upload leaves no temporary file behind":                            "Fiber's adaptor does not remove the files of a net/http form, with the middleware or without; Fiber's own forms leave none.",
		},
	}
	maps.Copy(a.Impossible, s.Impossible)
	a.Checks = append(adaptertest.Routes([]string{"HEAD /shop/orders/:id", "/api/users"}, nil), routeChecks()...)
	a.Nested = s.nested(a)
	return a
}

func routeChecks() (checks []adaptertest.Check) {
	for _, route := range []string{"GET /shop/orders/:id", "POST /api/users", footfall.AnyRoute, footfall.NoRoute} {
		checks = append(checks, adaptertest.Check{Name: route, Rule: footfall.Rule{Route: route}})
	}
	for _, route := range []string{"GET /orders/:id", "GET /api/users", "GET /only/used", "GET /shop", "GET /"} {
		checks = append(checks, adaptertest.Check{Name: route, Rule: footfall.Rule{Route: route}, Says: `Rule{"` + route + `"}.Route: not registered`})
	}
	return checks
}

func (s Subject[C, R]) register(a adaptertest.App) {
	inner, app := s.New(Config[C]{}), s.fiber(a)
	s.get(inner, "/orders/:id", next[C])
	app.Use("/only/used", next[C])
	s.Mount(app, "/shop", inner)
	a.Handle([]string{"/api"}, "POST", "/users", adaptertest.Fine)
}

// Measure returns functions that send a request to a bare app, and to one with a rule, its
// event and the context value. With browser the request has the headers of a browser.
func (s Subject[C, R]) Measure(tb testing.TB, browser bool) (bare, wrapped func()) {
	tb.Helper()
	head := "POST /checkout/7 HTTP/1.1\r\nHost: shop.example.com\r\n"
	if browser {
		head += headers
	}
	requests := func(handlers ...any) func() {
		app := s.New(Config[C]{})
		for _, h := range handlers {
			app.Use(h)
		}
		s.Add(app, "POST", "/checkout/:id", Handlers[C]{func(C) error { return nil }})
		return s.Requests(tb, app, "/checkout/7", head+"\r\n")
	}
	return requests(), requests(s.Middleware(adaptertest.Tracker(tb), footfall.Rule{
		Route: "POST /checkout/:id", Event: "checkout_completed", Status: footfall.Success,
	}))
}

const headers = "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0\r\n" +
	"Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n" +
	"Accept-Language: en-GB,en;q=0.5\r\nAccept-Encoding: gzip, deflate, br, zstd\r\n" +
	"Referer: https://shop.example.com/basket\r\nCookie: session=1a2b3c4d5e6f; theme=dark\r\n" +
	"Sec-Fetch-Dest: document\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Site: same-origin\r\n" +
	"Upgrade-Insecure-Requests: 1\r\nPriority: u=0, i\r\n"
