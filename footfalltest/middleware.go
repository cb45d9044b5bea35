package footfalltest

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/footfall-dev/footfall"
)

// Subject is a middleware that RunMiddleware tests, with its framework.
type Subject struct {
	// Handler returns the app as a handler of net/http. Set Serve instead for a
	// framework with its own server.
	Handler func(tb testing.TB, app App) http.Handler

	// Serve serves the app on the listener until stop is called. stop returns
	// when all requests are answered.
	Serve func(tb testing.TB, app App, l net.Listener) (stop func())

	// Pattern writes a path pattern of net/http as the framework does, such as
	// /users/:id for /users/{id}. The suite has one pattern with a wildcard for the rest,
	// /help/{rest...}. Nil if they are the same.
	Pattern func(string) string

	// Nested are the framework's ways to compose routers, each with the full
	// pattern that a request to Path matches.
	Nested []Nested

	// WebSocket has the server and the client of a real library.
	WebSocket WebSocket

	// Tracks says that Handler or Serve calls the adapter's Track for Route.Event. If it is
	// false, the suite does not test Track.
	Tracks bool

	// Impossible maps the names of tests that are impossible with the framework to the reasons.
	// RunMiddleware logs these tests and does not run them.
	Impossible map[string]string
}

// App is what a Subject serves.
type App struct {
	Tracker *footfall.Tracker // nil: without the middleware
	Rules   []footfall.Rule   // in the framework's own patterns
	Routes  []Route

	// Recovered is called by the host's recovery, above the middleware, with the value
	// of a panic. The app then answers 500, or closes the connection after
	// http.ErrAbortHandler. With Subject.Handler the suite adds the recovery.
	Recovered func(any)

	// SiteOf, if it is not nil, returns the site of a request's Host. A middleware of the
	// host, above the tested one, passes it to footfall.WithSite. With Subject.Handler the
	// suite adds that middleware.
	SiteOf func(host string) string
}

// Route is one route of an App.
type Route struct {
	Method  string
	Pattern string       // as net/http has it, such as /users/{id}
	Handler http.Handler // nil if Fail is set

	// Event is the name of an event that the route's handler tracks before it calls Handler,
	// with the adapter's Track. It is empty unless Subject.Tracks is true.
	Event string

	// Fail, if it is not zero, makes the route's handler return an error that the
	// framework answers with this status.
	Fail int
}

// Nested is one way to compose routers.
type Nested struct {
	Name    string
	Handler func(tb testing.TB, app App) http.Handler // serves app.Routes[0].Handler at the composed route
	Serve   func(tb testing.TB, app App, l net.Listener) (stop func())
	Method  string
	Host    string // of the request; the server's if empty
	Path    string // of the request
	Route   string // the full pattern, as a Rule names it
}

// WebSocket is a server and a client of one library.
type WebSocket struct {
	Echo http.Handler // sends back what it receives
	// Send connects to url, sends text and returns the answer.
	Send func(ctx context.Context, url, text string) (string, error)
}

// row is one test of the suite.
type row struct {
	name string
	run  func(*testing.T, Subject)
}

var rows = []row{
	{"the writer keeps its interfaces", writerKeepsItsInterfaces},
	{"a WebSocket upgrade works", webSocketWorks},
	{"server-sent events arrive when they are written", eventsArriveWhenWritten},
	{"103 and then 404 is recorded as 404", earlyHintsAreNotTheStatus},
	{"panics reach the host unchanged and are recorded", panicsReachTheHost},
	{"an upload leaves no temporary file behind", uploadLeavesNoFile},
	{"the route is the full pattern", routeIsTheFullPattern},
	{"404 and 405 make no event without a rule for NoRoute", missingRoutesMakeNoEvent},
	{"an error that a handler returns is recorded as the client sees it", errorsAreRecordedAsSeen},
	{"a site set above the middleware is the events' site", siteAboveIsTheEvents},
	{"64 clients at once do not mix", clientsDoNotMix},
	{"a file is sent in the same way as without the middleware", filesAreSentAsWithout},
	{"the answer is the same to the byte", answerIsTheSame},
	{"Track works in the handler, in its goroutines and after the client has disconnected", trackWorksEverywhere},
	{"what a client sends never costs an event", clientsCostNoEvent},
	{"secrets in paths are replaced", secretsInPathsAreReplaced},
	{"Track in the handler knows the route", trackKnowsTheRoute},
	{"the host of pages is one of Config.Hosts", hostIsOneOfTheList},
	{"the page is the configured one", pageIsTheConfigured},
	{"catch-alls have distinct names, and their 404 counts for NoRoute", catchAllsAreToldApart},
	{"AnyRoute leaves out routes with their own rule", rulesForARouteSilenceAnyRoute},
	{"the status is a prop and a class", statusIsAPropAndAClass},
	{"assets make no event", assetsAreNoVisits},
	{"a rule's page may be the Referer", ruleMayNameTheReferer},
	{"a prefetch makes no event", prefetchIsNoVisit},
	{"NoRoute needs no other rule", noRouteNeedsNoOtherRule},
	{"a slash at the end has the router's meaning", slashAtTheEndIsOfTheRouter},
	{"another spelling of the path hides a secret, too", spellingsHideSecrets},
	{"TrackRequest needs no context value", trackRequestNeedsNoContextValue},
	{"the adapter's own Track knows the route", ownTrackKnowsTheRoute},
}

// RunMiddleware tests that a middleware makes the right events and otherwise changes nothing of
// the application. Each test uses a server on a socket. The net/http middleware and this
// project's adapters of routers pass the suite.
func RunMiddleware(t *testing.T, s Subject) {
	t.Helper()
	if s.Pattern == nil {
		s.Pattern = func(pattern string) string { return pattern }
	}
	for name := range s.Impossible {
		if !slices.ContainsFunc(rows, func(r row) bool { return r.name == name }) {
			t.Errorf("footfalltest: there is no row %q", name)
		}
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			if why, ok := s.Impossible[r.name]; ok {
				t.Logf("IMPOSSIBLE: %s", why)
				return
			}
			r.run(t, s)
		})
	}
}

// site is an App that is being served.
type site struct {
	URL     string
	Tracker *Tracker
	stop    func()
}

// open serves routes with a tracker that records.
func (s Subject) open(t *testing.T, rules []footfall.Rule, routes ...Route) *site {
	t.Helper()
	tracker := newQuiet(t)
	app := App{Tracker: tracker.Tracker, Rules: rules, Routes: routes, Recovered: func(any) {}}
	return s.serve(t, app, tracker)
}

// openBare serves routes without the middleware.
func (s Subject) openBare(t *testing.T, routes ...Route) *site {
	t.Helper()
	return s.serve(t, App{Routes: routes, Recovered: func(any) {}}, nil)
}

func newQuiet(t *testing.T) *Tracker {
	t.Helper()
	return New(t, func(c *footfall.Config) { c.DefaultURL = "" }) // every event must know its page
}

func (s Subject) serve(t *testing.T, app App, tracker *Tracker) *site {
	t.Helper()
	if s.Serve == nil {
		server := httptest.NewServer(recovering(sited(s.Handler(t, app), app.SiteOf), app.Recovered))
		t.Cleanup(server.Close)
		return &site{URL: server.URL, Tracker: tracker, stop: server.Close}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return &site{URL: "http://" + listener.Addr().String(), Tracker: tracker, stop: s.Serve(t, app, listener)}
}

// recovering is the host's recovery for handlers of net/http.
func recovering(next http.Handler, recovered func(any)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			v := recover()
			if v == nil {
				return
			}
			recovered(v)
			if v == http.ErrAbortHandler {
				panic(v)
			}
			w.WriteHeader(http.StatusInternalServerError)
		}()
		next.ServeHTTP(w, r)
	})
}

// sited is the host's middleware that sets the site, for handlers of net/http.
func sited(next http.Handler, siteOf func(host string) string) http.Handler {
	if siteOf == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(footfall.WithSite(r.Context(), siteOf(r.Host))))
	})
}

// events stops the site, so that every handler has returned, and returns the events.
func (s *site) events() []Event {
	s.stop()
	return s.Tracker.Events()
}

// eventually waits for n events and returns the events. It is for hijacked connections,
// because the server does not wait for their handlers.
func (s *site) eventually(n int) []Event {
	tick, end := time.NewTicker(time.Millisecond), time.Now().Add(patience)
	defer tick.Stop()
	events := s.events()
	for len(events) < n && time.Now().Before(end) {
		<-tick.C
		events = s.Tracker.Events()
	}
	return events
}

// rule makes a Rule for a route of the suite.
func (s Subject) rule(method, pattern, event string, status footfall.StatusClass) footfall.Rule {
	return footfall.Rule{Route: method + " " + s.Pattern(pattern), Event: event, Status: status}
}

func namesOf(events []Event) []string {
	names := make([]string, len(events))
	for i, e := range events {
		names[i] = e.Name
	}
	slices.Sort(names)
	return names
}

func expectNames(t *testing.T, events []Event, want ...string) {
	t.Helper()
	if got := namesOf(events); !slices.Equal(got, want) {
		t.Errorf("events %q, want %q", got, want)
	}
}
