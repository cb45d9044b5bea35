// Package fibertest tests the adapters for Fiber v2 and v3, besides adaptertest.Behave and
// adaptertest.Run, in the cases that only Fiber has. Each test serves both versions: it has
// type parameters for their types, and functions for the few names that differ.
package fibertest

import (
	"bufio"
	"context"
	"errors"
	"mime/multipart"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/adaptertest"
	"github.com/footfall-dev/footfall/footfalltest"
)

// Context has the methods that Fiber's context has in all versions.
type Context interface {
	Get(header string, or ...string) string
	Set(header, value string)
	Location(path string)
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
	// Server is the adapter's. OnListen and OnShutdown add hooks to an app.
	Server     func(app R, addr string) footfall.Server
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
	Break     func(C) error // closes the connection
	Redirect  func(c C, to string) error
	SendFile  func(c C, name string) error
	Stream    func(c C, write func(*bufio.Writer))
	TooLate   func(c C, status int)            // answers for a handler that goes on
	Upgrade   func(c C, talk func(Conn)) error // to a WebSocket
	Recover   func() func(C) error
	// Timeout is a handler below Fiber's middleware for timeouts, which answers 408.
	Timeout func(ended <-chan struct{}) func(C) error
	// Adapt is Fiber's adaptor for handlers of net/http. Raw does what the adaptor does
	// not; it is nil where that is impossible.
	Adapt func(http.HandlerFunc) func(C) error
	Raw   func(C) Raw

	// These are for this version only: more ways to compose routers, and impossible rows of
	// footfalltest.
	Nested     func(Compose[C, R]) []footfalltest.Nested
	Impossible map[string]string
}

// Conn is a WebSocket's.
type Conn interface {
	ReadMessage() (kind int, text []byte, err error)
	WriteMessage(kind int, text []byte) error
}

// Compose makes a composition of routers from a function that registers the handler.
type Compose[C, R any] func(name, method, path, route string, add func(app R, h func(C) error)) footfalltest.Nested

// patience bounds each wait.
const patience = 15 * time.Second

var errFails = errors.New("it fails")

func seen(route string) footfall.Rule { return footfall.Rule{Route: route, Event: "seen"} }

func fine[C Context](c C) error { return c.SendString("fine") }

func next[C Context](c C) error { return c.Next() }

// get registers a route for GET.
func (s Subject[C, R]) get(r R, path string, handlers ...func(C) error) {
	s.Add(r, "GET", path, handlers)
}

// watched is an app below the adapter's middleware.
func (s Subject[C, R]) watched(tracker *footfalltest.Tracker, rules ...footfall.Rule) R {
	app := s.New(Config[C]{})
	app.Use(s.Middleware(tracker.Tracker, rules...))
	return app
}

// open serves app on a socket.
func (s Subject[C, R]) open(t *testing.T, app R) (base string, stop func()) {
	t.Helper()
	return adaptertest.Open(t, func(l net.Listener) func() error { return s.serve(app, l) }, nil)
}

func (s Subject[C, R]) serve(app R, l net.Listener) (stop func() error) {
	served := make(chan error, 1)
	go func() { served <- s.Listen(app, l) }()
	return func() error { return errors.Join(s.Shutdown(app, patience), <-served) }
}

// ask sends a request and returns the status.
func ask(t *testing.T, base, method, path string) int {
	t.Helper()
	status, _ := adaptertest.Ask(t, base, adaptertest.Request{Method: method, Path: path})
	return status
}

// Run runs all tests except the conformance suite and the test of Fiber's own forms.
func (s Subject[C, R]) Run(t *testing.T) {
	rows := []struct {
		name string
		run  func(*testing.T)
	}{
		{"the page outlives the buffers of its request", s.pageOutlivesBuffers},
		{"the page is the page of the original request", s.pageIsAsItCame},
		{"clients of Fiber's own handlers do not mix", s.clientsDoNotMix},
		{"an error is answered once and recorded as seen", s.errorIsAnsweredOnce},
		{"an error that no rule needs is passed on", s.errorGoesOn},
		{"a handler of Use is not a route", s.whatUseAnswersIsNoRoute},
		{"HEAD of a GET route makes no event", s.headIsNoVisit},
		{"a request that is routed again is counted once", s.routedAgainIsCountedOnce},
		{"one middleware serves a group, a route and two apps", s.oneMiddlewareServesAll},
		{"a timeout is recorded as the client sees it", s.timeoutIsRecordedAsSeen},
		{"a WebSocket of fasthttp works", s.webSocketWorks},
		{"a stream arrives as it is written", s.streamArrivesAsWritten},
		{"a file is sent whole", s.fileIsSentWhole},
		{"patterns are Fiber's", s.patternsAreFibers},
		{"a plus is a catch-all", s.plusIsACatchAll},
		{"CheckRules knows the registered routes", s.checkRulesKnows},
		{"the server answers and stops once", s.serverAnswersAndStopsOnce},
		{"the server stops although Fiber has not begun to serve", s.serverStopsBeforeFiberServes},
		{"the server says that the port is in use", s.serverSaysThatThePortIsInUse},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			r.run(t)
		})
	}
	t.Run("like the others", s.behaves)
}

func (s Subject[C, R]) behaves(t *testing.T) {
	adaptertest.Behave(t, adaptertest.Framework{
		New: func() adaptertest.App { return app[C, R]{s, s.New(Config[C]{Strict: true})} }, Pattern: adaptertest.Replace(":", "*"),
		Values: []adaptertest.Values{
			{Pattern: "/files/:folder/*", Path: "/files/a/b/c.txt", Want: map[string]any{"folder": "a", "*": "b/c.txt"}},
			{Pattern: "/users/:id?", Path: "/users", Want: map[string]any{"id": ""}},
			{Pattern: "/items/:id<int>", Path: "/items/42", Want: map[string]any{"id": "42"}},
		},
		Impossible: map[string]string{
			"above the recovery a panic is recorded with the status of its answer": "Fiber's recovery makes an error of every panic, http.ErrAbortHandler too: the middleware stands below it",
			"a refusal by a middleware below is recorded":                          "Fiber finds the route after its middlewares, so the answer of a middleware has none",
			"middlewares above see the same request as without the adapter":        "Fiber has no *http.Request, of which another could take the place",
			"the request is the original without a context value":                  "Fiber has no *http.Request",
		},
	})
}

// UploadLeavesNoFile is for Fiber's own forms. It cannot run in parallel, because the
// process has one folder of temporary files.
func (s Subject[C, R]) UploadLeavesNoFile(t *testing.T) {
	tracker := footfalltest.New(t)
	app := s.New(Config[C]{BodyLimit: 64 << 20})
	app.Use(s.Middleware(tracker.Tracker, seen("POST /upload")))
	s.Add(app, "POST", "/upload", Handlers[C]{func(c C) error {
		form, err := c.MultipartForm()
		if assert.NoError(t, err) {
			assert.Len(t, form.File["file"], 1)
		}
		assert.NotEmpty(t, adaptertest.TemporaryFiles(t), "the upload went into no file")
		return nil
	}})
	const size = 30 << 20 // fasthttp keeps 16 MB in memory
	adaptertest.UploadLeavesNoFile(t, size, func(l net.Listener) func() error { return s.serve(app, l) })
	assert.Equal(t, []string{"seen"}, tracker.Names())
}
