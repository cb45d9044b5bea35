package adaptertest

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
)

// patience bounds each wait.
const patience = 15 * time.Second

var errBoom = errors.New("boom")

// Stage is an application of a subject in a test, with a tracker that must know the page of every
// event. The application is served from the first request on.
type Stage struct {
	*testing.T
	Subject
	App     App
	Tracker *footfalltest.Tracker
	secure  *tls.Config // of the server; nil: without
	trusted *tls.Config // of its clients
	base    string
	stop    func()
}

// NewStage returns an application that is not served yet.
func NewStage(t *testing.T, s Subject, change ...func(*footfall.Config)) *Stage {
	t.Helper()
	if s.Pattern == nil {
		s.Pattern = func(pattern string) string { return pattern }
	}
	return &Stage{T: t, Subject: s, App: s.New(), Tracker: quiet(t, change...)}
}

func quiet(t *testing.T, change ...func(*footfall.Config)) *footfalltest.Tracker {
	t.Helper()
	return footfalltest.New(t, append(change, func(c *footfall.Config) { c.DefaultURL = "" })...)
}

// Another returns a stage of the same subject, in a subtest or with another configuration.
func (s *Stage) Another(t *testing.T, change ...func(*footfall.Config)) *Stage {
	t.Helper()
	return NewStage(t, s.Subject, change...)
}

// Each runs a subtest with a new stage.
func (s *Stage) Each(name string, run func(*Stage)) {
	s.Run(name, func(t *testing.T) {
		t.Parallel()
		run(s.Another(t))
	})
}

// Watch adds the adapter's middleware with the stage's tracker.
func (s *Stage) Watch(rules ...footfall.Rule) { s.App.Watch(s.Tracker.Tracker, rules...) }

// Method is the method of the routes of On.
func (s *Stage) Method() string {
	if s.Service != "" {
		return http.MethodPost
	}
	return http.MethodGet
}

// Route is the route of On as a rule names it. The pattern is in the notation of net/http.
func (s *Stage) Route(pattern string) string {
	return s.Method() + " " + s.Service + s.Pattern(pattern)
}

// On adds a route for GET, or a procedure.
func (s *Stage) On(pattern string, h Handler) {
	s.App.Handle(nil, s.Method(), s.Service+s.Pattern(pattern), h)
}

// Get sends a request with headers to a route of On, and returns the status.
func (s *Stage) Get(path string, header ...string) int {
	status, _ := s.Ask(Request{Path: path, Header: header})
	return status
}

// Ask sends a request on a new connection, and returns status and body, or 0 if the connection broke.
func (s *Stage) Ask(r Request) (status int, body string) {
	client := s.Connect()
	defer client.Close()
	return s.By(client, r)
}

// By is Ask on the connection of a client.
func (s *Stage) By(client Client, r Request) (status int, body string) {
	if r.Method == "" {
		r.Method = s.Method()
	}
	r.Path = s.Service + r.Path
	return client.Ask(s.T, r)
}

// Connect returns a client with a new connection.
func (s *Stage) Connect() Client {
	s.open()
	to := Address{strings.TrimPrefix(strings.TrimPrefix(s.base, "http://"), "https://"), s.trusted}
	if s.Dial != nil {
		return s.Dial(s.T, to)
	}
	return dialHTTP(to)
}

// URL is the page of a request for path.
func (s *Stage) URL(path string) string { return s.open() + s.Service + path }

func (s *Stage) open() (base string) {
	if s.base == "" {
		serve := func(l net.Listener) func() error { return s.App.Serve(l, s.secure) }
		s.base, s.stop = Open(s.T, serve)
		if s.secure != nil {
			s.base = "https" + strings.TrimPrefix(s.base, "http")
		}
	}
	return s.base
}

// Stop waits until all requests are answered.
func (s *Stage) Stop() {
	s.open()
	s.stop()
}

// Expect stops the server and compares the names of the events, in their order. It ends the test
// if they differ.
func (s *Stage) Expect(want ...string) []footfalltest.Event {
	s.Helper()
	s.Stop()
	require.Equal(s, append([]string{}, want...), append([]string{}, s.Tracker.Names()...))
	return s.Tracker.Events()
}

// ExpectPage is Expect for events of one page.
func (s *Stage) ExpectPage(page string, want ...string) {
	s.Helper()
	for _, e := range s.Expect(want...) {
		assert.Equal(s, page, e.URL, e.Name)
	}
}

// Fine is a handler that answers.
func Fine(c Context) error { return c.Answer(http.StatusOK, "fine") }

// Failing returns a handler that fails.
func Failing(status int) Handler { return func(c Context) error { return c.Fail(status) } }

// Seen returns a rule whose event is "seen".
func Seen(route string) footfall.Rule { return footfall.Rule{Route: route, Event: "seen"} }

// Classes returns a rule for each class of status. The event is named after the class.
func Classes(route string) []footfall.Rule {
	return []footfall.Rule{
		{Route: route, Event: "success", Status: footfall.Success},
		{Route: route, Event: "client error", Status: footfall.Status4xx},
		{Route: route, Event: "server error", Status: footfall.Status5xx},
		{Route: route, Event: "aborted", Status: footfall.Aborted},
	}
}

// Open serves until the test ends, and returns the address.
func Open(t *testing.T, serve func(net.Listener) func() error) (base string, stop func()) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	end := serve(l)
	stop = sync.OnceFunc(func() { assert.NoError(t, end()) })
	t.Cleanup(stop)
	return "http://" + l.Addr().String(), stop
}

// Address is where a client connects to.
type Address struct {
	Host string
	TLS  *tls.Config // of the client, which knows the server's certificate; nil: without
}

// Client has one connection.
type Client interface {
	Ask(t *testing.T, r Request) (status int, body string)
	Close()
}

// Request is a request that a client sends.
type Request struct {
	Method, Path string
	Host         string          // the server's address if empty
	Header       []string        // names and values
	Left         <-chan struct{} // when it is closed, the client leaves; nil: it stays
}

// Context returns the context of a request, which ends when the client leaves.
func (r Request) Context(t *testing.T) (context.Context, context.CancelFunc) {
	ctx, leave := context.WithTimeout(t.Context(), patience)
	if r.Left != nil {
		go func() {
			<-r.Left
			leave()
		}()
	}
	return ctx, leave
}

type httpClient struct {
	base string
	*http.Client
}

func dialHTTP(to Address) Client {
	base := "http://"
	if to.TLS != nil {
		base = "https://"
	}
	transport := &http.Transport{TLSClientConfig: to.TLS, MaxConnsPerHost: 1}
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return httpClient{base + to.Host, &http.Client{Transport: transport, Timeout: patience, CheckRedirect: stay}}
}

// Close implements Client.
func (c httpClient) Close() { c.CloseIdleConnections() }

// Ask implements Client.
func (c httpClient) Ask(t *testing.T, r Request) (status int, body string) {
	t.Helper()
	ctx, leave := r.Context(t)
	defer leave()
	sent, err := http.NewRequestWithContext(ctx, r.Method, c.base+r.Path, nil)
	require.NoError(t, err)
	sent.Host = r.Host
	for pair := range slices.Chunk(r.Header, 2) {
		sent.Header.Add(pair[0], pair[1])
	}
	answer, err := c.Do(sent)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	if status = answer.StatusCode; status == http.StatusSwitchingProtocols {
		return status, ""
	}
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, err.Error()
	}
	return status, string(text)
}
