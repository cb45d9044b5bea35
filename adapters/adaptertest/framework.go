package adaptertest

import (
	"context"
	"net"
	"net/http"
	"testing"

	"github.com/footfall-dev/footfall"
)

// Framework describes an adapter and its framework to Behave.
type Framework struct {
	// New returns an application without routes.
	New func() App

	// Pattern writes a path pattern of net/http as the framework does, such as
	// /users/:id for /users/{id}. Nil if they are the same.
	Pattern func(string) string

	// Values are routes with wildcards that only the framework has.
	Values []Values

	// AnswersAbort says that the framework's recovery answers http.ErrAbortHandler with 500,
	// like any other panic.
	AnswersAbort bool

	// Impossible has the rows that are impossible with the framework, and the reasons.
	Impossible map[string]string
}

// Values are the values of a route's wildcards in a request.
type Values struct {
	Pattern string // in the framework's own notation
	Path    string // of the request
	Want    map[string]any
}

// App is an application of the framework. The middleware that is added first is the
// outermost.
type App interface {
	// Watch adds the adapter's middleware.
	Watch(tracker *footfall.Tracker, rules ...footfall.Rule)
	// Use adds a middleware of the application.
	Use(Middleware)
	// Recover adds the framework's recovery, or a typical one if it has none. It
	// answers 500, and may let http.ErrAbortHandler pass.
	Recover()
	// Refuse adds a middleware that refuses every request with 401, like the
	// framework's own for authentication.
	Refuse()

	// Handle adds a route to the group of a prefix, or to none if it is empty.
	Handle(prefix, method, pattern string, h Handler)
	// CheckRules is the adapter's.
	CheckRules(tracker *footfall.Tracker, rules ...footfall.Rule) error

	// Serve serves until stop is called. stop returns when all requests are answered.
	Serve(l net.Listener) (stop func() error)
	// Direct answers GET of a path in the caller's goroutine, without a server.
	Direct(tb testing.TB, path string)
}

// Handler is a handler of the framework. If the framework's handlers return no error, the
// error is nil.
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
