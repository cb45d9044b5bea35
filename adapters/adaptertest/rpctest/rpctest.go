// Package rpctest is the conformance suite for adapters of RPC frameworks, as
// footfalltest.RunMiddleware is for adapters of HTTP routers. A Subject serves and calls with
// a framework.
package rpctest

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
)

// Subject is an adapter that Run tests, with its framework.
type Subject struct {
	// Serve serves the app on the listener until stop is called. stop returns
	// when all calls are answered. The messages are strings.
	Serve func(tb testing.TB, app App, l net.Listener) (stop func())

	// Dial returns a client with a new connection to a server.
	Dial func(tb testing.TB, to Server) Client
}

// Server is where a client connects to.
type Server struct {
	Address   string
	Authority string      // the host that the client names; empty: Address
	TLS       *tls.Config // nil: without
}

// App is what a Subject serves.
type App struct {
	Bare       bool // without the adapter
	Tracker    *footfall.Tracker
	Rules      []footfall.Rule
	Procedures []Procedure
	TLS        *tls.Config // nil: without

	// Recovered is the host's recovery, an interceptor above the adapter's: it
	// takes the value of a panic, and the call fails with CodeInternal.
	Recovered func(any)

	// Above, if it is not nil, makes the context of a call in an interceptor of the
	// host, above the adapter's.
	Above func(context.Context) context.Context
}

// Procedure is one procedure of an App. If Handler returns a *Error, the framework's handler
// returns the framework's error with the same code. If it returns an error that wraps a
// *Error, the framework's handler returns an error that wraps the framework's. Other errors
// are returned unchanged.
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

// procedure is the suite's procedure of this kind.
func (k Kind) procedure(handler func(context.Context, Stream) error) Procedure {
	name := [...]string{"Unary", "Collect", "Watch", "Chat"}[k]
	return Procedure{Name: "/rpctest.v1.Suite/" + name, Kind: k, Handler: handler}
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
	// Call sends messages, and receives until the call has ended. The answer's Error is the
	// zero Error if the call succeeded. Headers of an error count as Header.
	Call(ctx context.Context, p Procedure, header map[string]string, messages ...string) Answer
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

// Codes that the suite names.
const (
	Canceled         Code = 1
	Unknown          Code = 2
	DeadlineExceeded Code = 4
	NotFound         Code = 5
	Unimplemented    Code = 12
	Internal         Code = 13
	Unauthenticated  Code = 16 // the last
)

// patience bounds every wait of the suite.
const patience = 20 * time.Second

// rows are the tests, each run against a server on a socket.
var rows = []struct {
	name string
	run  func(*testing.T, Subject)
}{
	{"the procedure is the route", procedureIsTheRoute},
	{"an unknown procedure makes no event", unknownMakesNoEvent},
	{"panics reach the host unchanged and are recorded", panicsReachTheHost},
	{"a returned error is recorded with its code", errorsAreRecordedWithTheirCode},
	{"64 clients at once do not mix", clientsDoNotMix},
	{"response, headers and trailers are the same", answerIsTheSame},
	{"Track works in the handler, in its goroutines and after the client has disconnected", trackWorksEverywhere},
	{"a nil and a disabled tracker change nothing", noTrackerChangesNothing},
	{"events are made without the context value", eventsNeedNoContextValue},
	{"the page is the public one", pageIsThePublicOne},
	{"Skip and PageReferer apply", skipAndRefererAreHeeded},
	{"the page is the configured one", pageIsTheConfigured},
	{"a client's host never costs an event", hostsCostNoEvent},
	{"AnyRoute leaves out procedures with their own rule", rulesForAProcedureSilenceAnyRoute},
	{"the status is a prop and a class", statusIsAPropAndAClass},
	{"a site set above the interceptor is the events' site", siteAboveIsTheEvents},
}

// Run tests that an adapter makes events of unary calls and of all kinds of streams, and
// otherwise changes nothing of the application.
func Run(t *testing.T, s Subject) {
	t.Helper()
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			r.run(t, s)
		})
	}
}

// each runs a test for each kind of procedure.
func each(t *testing.T, test func(*testing.T, Kind)) {
	for _, kind := range Kinds {
		t.Run(kind.String(), func(t *testing.T) { test(t, kind) })
	}
}

// site is an App that is being served.
type site struct {
	Address string
	Tracker *footfalltest.Tracker
	subject Subject
	secure  *tls.Config
	host    string // that clients name; empty: Address
	stop    func()
}

// open serves procedures with a tracker that records.
func (s Subject) open(t *testing.T, rules []footfall.Rule, procedures ...Procedure) *site {
	t.Helper()
	return s.openWith(t, func(*footfall.Config) {}, rules, procedures...)
}

func (s Subject) openWith(t *testing.T, change func(*footfall.Config), rules []footfall.Rule, procedures ...Procedure) *site {
	t.Helper()
	tracker := newTracker(t, change)
	site := s.serve(t, App{Tracker: tracker.Tracker, Rules: rules, Procedures: procedures})
	site.Tracker = tracker
	return site
}

// newTracker returns a tracker that needs a page for every event.
func newTracker(t *testing.T, change func(*footfall.Config)) *footfalltest.Tracker {
	t.Helper()
	return footfalltest.New(t, func(c *footfall.Config) { c.DefaultURL = "" }, change)
}

func (s Subject) serve(t *testing.T, app App) *site {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if app.Recovered == nil {
		app.Recovered = func(v any) { t.Errorf("a handler panicked: %v", v) }
	}
	stop := sync.OnceFunc(s.Serve(t, app, listener))
	t.Cleanup(stop)
	return &site{Address: listener.Addr().String(), subject: s, stop: stop}
}

// certified returns the configurations of a TLS server and client on loopback, with the
// certificate of net/http/httptest.
func certified(t *testing.T) (server, client *tls.Config) {
	t.Helper()
	model := httptest.NewUnstartedServer(nil)
	model.StartTLS()
	defer model.Close()
	roots := x509.NewCertPool()
	roots.AddCert(model.Certificate())
	return &tls.Config{Certificates: model.TLS.Certificates}, &tls.Config{RootCAs: roots}
}

func (s *site) dial(t *testing.T) Client {
	t.Helper()
	return s.subject.Dial(t, Server{Address: s.Address, Authority: s.host, TLS: s.secure})
}

// call makes one call on a new connection.
func (s *site) call(t *testing.T, p Procedure, header map[string]string, messages ...string) Answer {
	t.Helper()
	client := s.dial(t)
	defer client.Close()
	return call(t, client, p, header, messages...)
}

func call(t *testing.T, client Client, p Procedure, header map[string]string, messages ...string) Answer {
	t.Helper()
	if len(messages) == 0 {
		messages = []string{"hello"}
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	return client.Call(ctx, p, header, messages...)
}

// events stops the site, so that every handler has returned, and returns the events.
func (s *site) events() []footfalltest.Event {
	s.stop()
	return s.Tracker.Events()
}

func expectNames(t *testing.T, events []footfalltest.Event, want ...string) {
	t.Helper()
	got := make([]string, len(events))
	for i, e := range events {
		got[i] = e.Name
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("events %q, want %q", got, want)
	}
}

func expectPages(t *testing.T, events []footfalltest.Event, want string) {
	t.Helper()
	for _, e := range events {
		if e.URL != want {
			t.Errorf("%s is on page %q, want %q", e.Name, e.URL, want)
		}
	}
}

func expectWell(t *testing.T, a Answer, want ...string) {
	t.Helper()
	if a.Error != (Error{}) || fmt.Sprint(a.Messages) != fmt.Sprint(want) {
		t.Errorf("answered %q and %v, want %q", a.Messages, a.Error, want)
	}
}
