package adaptertest

import (
	"context"
	"net"
	"net/http"
	"testing"

	"github.com/footfall-dev/footfall"
)

// Framework is what Behave tests: an adapter, through applications of the framework that
// it is for.
type Framework struct {
	// New returns an application without routes.
	New func() App

	// Pattern writes a path pattern of net/http as the framework does, such as
	// /users/:id for /users/{id}. Nil if they are the same.
	Pattern func(string) string

	// Values are routes of the framework with wildcards that net/http has not.
	Values []Values

	// AnswersAbort says that the framework's recovery takes http.ErrAbortHandler for a panic
	// like another, and answers 500.
	AnswersAbort bool

	// Impossible names rows that the framework makes impossible, and says why.
	Impossible map[string]string
}

// Values are what the wildcards of a route have for a request.
type Values struct {
	Pattern string // in the framework's own words
	Path    string // of the request
	Want    map[string]any
}

// App is an application of the framework. What is added first is the outermost.
type App interface {
	// Watch adds the adapter's middleware.
	Watch(tracker *footfall.Tracker, rules ...footfall.Rule)
	// Use adds a middleware of the application's own.
	Use(Middleware)
	// Recover adds the framework's recovery, or one as its users write it. It
	// answers 500, and may let http.ErrAbortHandler pass.
	Recover()
	// Refuse adds a middleware that refuses every request with 401, as the
	// framework's own for authentication does.
	Refuse()

	// Handle adds a route to the group of a prefix, or to none if it is empty.
	Handle(prefix, method, pattern string, h Handler)
	// CheckRules is the adapter's.
	CheckRules(tracker *footfall.Tracker, rules ...footfall.Rule) error

	// Serve serves until stop is called, which returns when all is answered.
	Serve(l net.Listener) (stop func() error)
	// Direct answers GET of a path in the caller's goroutine, without a server.
	Direct(tb testing.TB, path string)
}

// Handler is a handler of the framework. Frameworks whose handlers return no error
// never return one.
type Handler func(c Context) error

// Middleware is a middleware of the framework.
type Middleware func(c Context, next func() error) error

// Context is a request as the framework gives it to handlers and middlewares.
type Context interface {
	// Context is the request's, which outlives the handler.
	Context() context.Context
	// Track is the adapter's.
	Track(name string, props ...footfall.Prop) error
	// Request is nil if the framework has none of net/http.
	Request() *http.Request
	SetRequest(*http.Request)

	Param(name string) string
	SetHeader(name, value string)
	Answer(status int, text string) error
	// Fail answers as a handler does that fails: with an error of the framework
	// where handlers return one.
	Fail(status int) error
}
