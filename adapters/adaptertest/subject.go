package adaptertest

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"testing"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
)

// Subject describes an adapter and its framework to Run and Conform. Only New is required. What
// a framework lacks stays nil, and the rows that need it say so.
type Subject struct {
	// New returns an application without routes. Strict is New for an application that tells
	// /docs from /docs/; nil if New does.
	New, Strict func() App

	// Pattern writes a path pattern of net/http as the framework does, such as
	// /users/:id for /users/{id}. Nil if they are the same.
	Pattern func(string) string

	// Service is the prefix of the procedures of an RPC framework, and Dial connects to its server.
	// Both are empty for HTTP.
	Service string
	Dial    func(t *testing.T, to Address) Client

	// Values are routes with wildcards that only the framework has.
	Values []Values

	// AbortStatus is the status that a client sees if the framework's recovery gets
	// http.ErrAbortHandler. It is 0 if the connection breaks.
	AbortStatus int

	// OnError sets the function of the application that answers errors of handlers.
	OnError func(app App, answer func(c Context, err error))
	// UseHTTP adds a middleware of net/http.
	UseHTTP func(app App, m func(http.Handler) http.Handler)
	// Handler returns the application as a handler of net/http. If there is none, Host adds to an
	// application what the conformance suite wants above the adapter: App.Recovered and App.SiteOf.
	Handler func(App) http.Handler
	Host    func(app App, of footfalltest.App)

	// Opaque says that an application that is mounted as a handler of net/http is one route of
	// the outer application, and that the outer one does not know its routes.
	Opaque bool

	// Checks are rules for CheckRules, which gets an application that Register has filled.
	// Known is a route that a rule may name.
	Register func(App)
	Known    string
	Checks   []Check

	// Nested are the framework's own ways to compose routers.
	Nested []footfalltest.Nested

	// Impossible has the rows that are impossible with the framework, and the reasons. Readme, the
	// README of the adapter, has the reasons of rows of the conformance suite word for word. It
	// defaults to README.md in the folder of the test.
	Impossible map[string]string
	Readme     string
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

	// Handle adds a route to a group in groups with these prefixes. An empty method is any.
	Handle(groups []string, method, pattern string, h Handler)
	// CheckRules is the adapter's.
	CheckRules(tracker *footfall.Tracker, rules ...footfall.Rule) error

	// Serve serves until stop is called, by TLS if secure is not nil. stop returns when all
	// requests are answered.
	Serve(l net.Listener, secure *tls.Config) (stop func() error)
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
	// Context is the request's, which outlives the handler. SetContext changes it for the
	// handlers below.
	Context() context.Context
	SetContext(context.Context)
	// Track is the adapter's.
	Track(name string, props ...footfall.Prop) error
	// Request and Writer are nil if the framework has none of net/http.
	Request() *http.Request
	Writer() http.ResponseWriter

	Param(name string) string
	Header(name string) string // of the request
	SetHeader(name, value string)
	Answer(status int, text string) error
	// Fail answers as a handler does that fails: with an error of the framework
	// where handlers return one.
	Fail(status int) error
	// Serve answers with a handler of net/http.
	Serve(http.Handler) error
}
