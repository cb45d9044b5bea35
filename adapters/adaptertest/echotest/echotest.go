// Package echotest tests the adapters for echo v4 and v5, besides adaptertest.Behave and
// adaptertest.Run, in the cases that only echo has. The versions of echo have the same names
// with different types, so each test has type parameters and serves both.
package echotest

import (
	"errors"
	"net/http"
	"testing"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/adaptertest"
	"github.com/footfall-dev/footfall/footfalltest"
)

// Context has the methods that echo's context has in all versions.
type Context interface {
	Request() *http.Request
	SetRequest(*http.Request)
	Param(name string) string
	FormValue(name string) string
	String(status int, text string) error
	NoContent(status int) error
	Redirect(status int, to string) error
}

// Router is an Echo or a Group. H are its handlers, M its middlewares, R is what it
// returns for a route.
type Router[H, M, R any] interface {
	Use(...M)
	GET(path string, h H, m ...M) R
	POST(path string, h H, m ...M) R
	DELETE(path string, h H, m ...M) R
	RouteNotFound(path string, h H, m ...M) R
	Add(method, path string, h H, m ...M) R
}

// Group is a *echo.Group.
type Group[G, H, M, R any] interface {
	Router[H, M, R]
	Group(prefix string, m ...M) G
}

// Echo is a *echo.Echo.
type Echo[G, H, M, R any] interface {
	Group[G, H, M, R]
	http.Handler
	Pre(...M)
}

// Subject is the adapter for one version, and that version.
type Subject[C Context, H ~func(C) error, M ~func(H) H, R any, G Group[G, H, M, R], E Echo[G, H, M, R]] struct {
	Middleware func(*footfall.Tracker, ...footfall.Rule) M
	Track      func(c C, name string, props ...footfall.Prop) error
	CheckRules func(*footfall.Tracker, E, ...footfall.Rule) error

	New            func() E // it logs nothing
	Any            func(e E, path string, h H)
	Static         func(e E, prefix, folder string)
	Error          func(status int, cause error) error
	OnError        func(e E, answer func(c C, err error)) // sets the HTTPErrorHandler
	Writer         func(C) http.ResponseWriter            // below echo's Response
	WrapHandler    func(http.Handler) H
	WrapMiddleware func(func(http.Handler) http.Handler) M

	// Middlewares of echo. Refuse is a BasicAuth that refuses every request. Logger is a
	// request logger that calls the HTTPErrorHandler itself.
	Recover, Gzip, MethodOverride, RemoveTrailingSlash func() M
	Refuse, Logger                                     func() M
	Rewrite                                            func(map[string]string) M

	// These are for this version only: more ways to compose routers, impossible rows of
	// footfalltest, rules for CheckRules, and requests without a route.
	Nested     func(Compose[H, E]) []footfalltest.Nested
	Impossible map[string]string
	Register   func(E)

	// GroupHasRoute says that a group with a middleware registers a route for requests that
	// its other routes do not match, as echo before v4.10.3 does.
	GroupHasRoute bool

	Checks  []adaptertest.Check
	Missing []Missing[E, M]
}

// Compose makes a composition of routers from a function that registers the handler.
type Compose[H, E any] func(name, method, path, route string, compose func(e E, app footfalltest.App, h H)) footfalltest.Nested

var errBoom = errors.New("boom")

// Run runs all tests except the conformance suite.
func (s Subject[C, H, M, R, G, E]) Run(t *testing.T) {
	rows := []struct {
		name string
		run  func(*testing.T)
	}{
		{"an error is recorded with the status of its answer", s.errorIsRecordedAsAnswered},
		{"the HTTPErrorHandler is called once and can track", s.errorHandlerIsCalledOnce},
		{"an error after a flush is recorded with the status that the client saw", s.errorAfterFlush},
		{"an error without an answer keeps the request", s.errorKeepsTheRequest},
		{"http.ErrAbortHandler passes echo's recovery", s.abortPassesRecovery},
		{"a hijacked connection is a success even if the handler returns an error", s.takenOverIsSuccess},
		{"a refused upgrade is an ordinary answer", s.refusedUpgradeIsAnAnswer},
		{"the status is known below writers of other middlewares", s.writersAreSeenThrough},
		{"an answer of a net/http middleware is recorded", s.answerInPlaceIsBelieved},
		{"requests that no route matches", s.requestsWithoutRoute},
		{"Pre middlewares see the same request as without the adapter", s.preMiddlewaresWork},
		{"CheckRules asks the router", s.checkRulesAsksTheRouter},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			r.run(t)
		})
	}
	t.Run("like the others", func(t *testing.T) {
		adaptertest.Behave(t, adaptertest.Framework{
			New: s.newApp, Pattern: adaptertest.Replace(":", "*"),
			Values: []adaptertest.Values{{Pattern: "/reports/year_:year/*", Path: "/reports/year_2026/a/b.pdf", Want: map[string]any{"year": "2026", "*": "a/b.pdf"}}},
		})
	})
}

// serve serves h on a socket until the test ends.
func serve(t *testing.T, h http.Handler) (base string, stop func()) {
	t.Helper()
	return adaptertest.Open(t, adaptertest.Server{Handler: h}.Serve, nil)
}

// ask sends a request with headers and returns the status.
func ask(t *testing.T, base, method, path string, header ...string) int {
	t.Helper()
	status, _ := adaptertest.Ask(t, base, adaptertest.Request{Method: method, Path: path, Header: header})
	return status
}
