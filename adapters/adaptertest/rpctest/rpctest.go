// Package rpctest makes a subject of adaptertest of an RPC framework, and has the rows that only
// these frameworks have. Each kind of procedure makes a separate application.
package rpctest

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/adaptertest"
)

// Subject is an adapter that Run tests, with its framework.
type Subject struct {
	// Serve serves the app on the listener until stop is called, by TLS if secure is not nil.
	// stop returns when all calls are answered. The messages are strings.
	Serve func(app App, l net.Listener, secure *tls.Config) (stop func() error)

	// Dial returns a client with a new connection to a server. The client names authority as the
	// host; empty is the address.
	Dial func(tb testing.TB, to adaptertest.Address, authority string) Client

	Track      func(ctx context.Context, name string, props ...footfall.Prop) error
	CheckRules func(tracker *footfall.Tracker, procedures []Procedure, rules ...footfall.Rule) error
}

// App is what a Subject serves.
type App struct {
	Links      []Link // interceptors, the outermost first
	Procedures []Procedure
}

// Link is the adapter, or an interceptor of the host.
type Link struct {
	Tracker *footfall.Tracker
	Rules   []footfall.Rule
	// Around is nil for the adapter. header is the call's.
	Around func(ctx context.Context, header func(key string) string, next func(context.Context) error) error
}

// Procedure is one procedure of an App. If Handler, or an interceptor, returns a *Error, the
// framework's returns the framework's error with the same code. If it returns an error that wraps
// a *Error, the framework's returns an error that wraps the framework's. Other errors are returned
// unchanged.
type Procedure struct {
	Name    string // with the leading slash: /rpctest.v1.Suite/Unary
	Kind    Kind
	Handler func(ctx context.Context, s Stream) error
}

// Kind says which sides of a procedure send a stream.
type Kind int

// The kinds of procedures.
const (
	Unary Kind = iota
	ClientStream
	ServerStream
	BidiStream
)

// Kinds are all of them.
var Kinds = []Kind{Unary, ClientStream, ServerStream, BidiStream}

func (k Kind) String() string {
	return [...]string{"unary", "client stream", "server stream", "bidirectional stream"}[k]
}

// Stream is the handler's side of a call of any kind: a message that is not streamed is a
// stream of one.
type Stream interface {
	Header(key string) string // of the request
	SetHeader(key, value string)
	SetTrailer(key, value string)
	Receive() (string, error) // io.EOF at the end
	Send(string) error
}

// Client calls procedures.
type Client interface {
	// Call sends headers, names and values, and messages, and receives until the call has ended.
	// The answer's Error is the zero Error if the call succeeded. Headers of an error count as
	// Header.
	Call(ctx context.Context, p Procedure, header []string, messages ...string) Answer
	Close()
}

// Answer is a client's view of a call.
type Answer struct {
	Header, Trailer map[string][]string
	Messages        []string
	Error           Error
}

// Error is an error with a code, whose numbers all frameworks share.
type Error struct {
	Code    Code
	Message string
}

func (e *Error) Error() string { return e.Message }

// Code is a code of gRPC and Connect.
type Code uint32

// statuses are the HTTP statuses of codes.
var statuses = [...]int{200, 499, 500, 400, 504, 404, 409, 403, 429, 400, 409, 400, 501, 500, 503, 500, 401}

// codes are codes with a status.
var codes = map[int]Code{499: 1, 500: 13, 404: 5, 409: 6, 401: 16}

// coded is what a handler returns to fail with a status.
func coded(status int) error { return &Error{Code: codes[status], Message: "it fails"} }

const service = "/rpctest.v1.Suite"

// of returns the subject with procedures of one kind.
func (s Subject) of(kind Kind) adaptertest.Subject {
	return adaptertest.Subject{
		New:     func() adaptertest.App { return &app{Subject: s, kind: kind} },
		Service: service, AbortStatus: http.StatusInternalServerError,
		Dial: func(t *testing.T, to adaptertest.Address) adaptertest.Client {
			return &client{s: s, kind: kind, to: to}
		},
	}
}

// app is an App as an application of adaptertest.
type app struct {
	Subject
	App
	kind Kind
}

func (a *app) Watch(tracker *footfall.Tracker, rules ...footfall.Rule) {
	a.Links = append(a.Links, Link{Tracker: tracker, Rules: rules})
}

func (a *app) Use(m adaptertest.Middleware) {
	a.Links = append(a.Links, Link{Around: func(ctx context.Context, header func(string) string, next func(context.Context) error) error {
		c := &request{ctx: ctx, s: a.Subject, header: header}
		return m(c, func() error { return next(c.ctx) })
	}})
}

func (a *app) Recover() {
	a.Use(func(_ adaptertest.Context, next func() error) (err error) {
		defer func() {
			if recover() != nil {
				err = coded(http.StatusInternalServerError)
			}
		}()
		return next()
	})
}

func (a *app) Refuse() {
	a.Use(func(adaptertest.Context, func() error) error { return coded(http.StatusUnauthorized) })
}

func (a *app) Handle(_ []string, _, procedure string, h adaptertest.Handler) {
	a.Procedures = append(a.Procedures, Procedure{procedure, a.kind, func(ctx context.Context, stream Stream) error {
		return h(&request{ctx, a.Subject, stream.Header, stream})
	}})
}

func (a *app) CheckRules(tracker *footfall.Tracker, rules ...footfall.Rule) error {
	return a.Subject.CheckRules(tracker, a.Procedures, rules...)
}

func (a *app) Serve(l net.Listener, secure *tls.Config) (stop func() error) {
	return a.Subject.Serve(a.App, l, secure)
}

func (a *app) Direct(tb testing.TB, _ string) { tb.Fatal("an RPC needs a server") }

// request is a call as a request of adaptertest.
type request struct {
	ctx    context.Context
	s      Subject
	header func(string) string
	stream Stream // nil in an interceptor
}

func (r *request) Context() context.Context       { return r.ctx }
func (r *request) SetContext(ctx context.Context) { r.ctx = ctx }
func (r *request) Request() *http.Request         { return nil }
func (r *request) Writer() http.ResponseWriter    { return nil }
func (r *request) Param(string) string            { return "" }
func (r *request) Header(name string) string      { return r.header(name) }
func (r *request) SetHeader(name, value string)   { r.stream.SetHeader(name, value) }
func (r *request) Fail(status int) error          { return coded(status) }
func (r *request) Serve(http.Handler) error       { return errors.ErrUnsupported }

func (r *request) Track(name string, props ...footfall.Prop) error {
	return r.s.Track(r.ctx, name, props...)
}

// Answer receives all messages and sends one.
func (r *request) Answer(_ int, text string) error {
	if _, err := drain(r.stream); err != nil {
		return err
	}
	return r.stream.Send(text)
}

// drain receives all messages and counts them.
func drain(s Stream) (n int, err error) {
	for ; ; n++ {
		if _, err := s.Receive(); err == io.EOF {
			return n, nil
		} else if err != nil {
			return n, err
		}
	}
}

// client is a Client of adaptertest. It dials again if the host is another one.
type client struct {
	s    Subject
	kind Kind
	to   adaptertest.Address
	host string
	Client
}

func (c *client) Close() {
	if c.Client != nil {
		c.Client.Close()
	}
}

func (c *client) Ask(t *testing.T, r adaptertest.Request) (status int, body string) {
	a := c.call(t, r, "hello")
	return statuses[a.Error.Code], cmp.Or(a.Error.Message, strings.Join(a.Messages, " "))
}

func (c *client) call(t *testing.T, r adaptertest.Request, messages ...string) Answer {
	if c.Client == nil || c.host != r.Host {
		c.Close()
		c.host, c.Client = r.Host, c.s.Dial(t, c.to, r.Host)
	}
	ctx, leave := r.Context(t)
	defer leave()
	return c.Call(ctx, Procedure{Name: r.Path, Kind: c.kind}, r.Header, messages...)
}
