package footfall_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
)

// shopURL is Config.PublicURL in these tests, because ports of test servers change.
const shopURL = "https://shop.example.com"

// setup configures a siteUnderTest. The zero value is plain HTTP/1.1 without rules.
type setup struct {
	rules   []footfall.Rule
	config  func(*footfall.Config)
	around  func(http.Handler) http.Handler // outside of the middleware
	without bool                            // no middleware at all
	http2   bool
}

// siteUnderTest is a real server on loopback with a handler below the middleware.
type siteUnderTest struct {
	*httptest.Server
	tracker *footfalltest.Tracker
}

// open starts the site. The end of the test, or events, stops it.
func (s setup) open(t *testing.T, next http.Handler) *siteUnderTest {
	t.Helper()
	tracker := footfalltest.New(t, func(c *footfall.Config) {
		c.PublicURL = shopURL
		c.Logger = slog.New(slog.DiscardHandler)
		if s.config != nil {
			s.config(c)
		}
	})
	handler := next
	if !s.without {
		handler = tracker.Middleware(s.rules...)(next)
	}
	if s.around != nil {
		handler = s.around(handler)
	}
	server := httptest.NewUnstartedServer(handler)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	if s.http2 {
		server.EnableHTTP2 = true
		server.StartTLS()
	} else {
		server.Start()
	}
	t.Cleanup(server.Close)
	client := server.Client()
	client.Timeout = 20 * time.Second
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &siteUnderTest{server, tracker}
}

// events stops the server, which waits for running handlers, and returns the tracked events.
func (s *siteUnderTest) events() []footfalltest.Event {
	s.Close()
	return s.tracker.Events()
}

// names is events for tests that need only the names.
func (s *siteUnderTest) names() []string {
	s.Close()
	return s.tracker.Names()
}

// request returns a request to the site. header contains names and values in turn.
func (s *siteUnderTest) request(t *testing.T, method, path string, body io.Reader, header ...string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, body)
	require.NoError(t, err)
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	return r
}

// do sends a request without a body and reads the whole answer.
func (s *siteUnderTest) do(t *testing.T, method, path string, header ...string) (status int, body string) {
	t.Helper()
	resp, err := s.Client().Do(s.request(t, method, path, nil, header...))
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(text)
}

// get is do for tests that need only the events.
func (s *siteUnderTest) get(t *testing.T, path string, header ...string) {
	t.Helper()
	s.do(t, http.MethodGet, path, header...)
}

// answering returns a handler that answers with status.
func answering(status int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
}

// muxOf returns a mux that answers 200 at the given patterns.
func muxOf(patterns ...string) *http.ServeMux {
	mux := http.NewServeMux()
	for _, p := range patterns {
		mux.Handle(p, answering(http.StatusOK))
	}
	return mux
}

// onEveryClass returns rules for the route, one for each class of status. The class is the name
// of the event.
func onEveryClass(route string) []footfall.Rule {
	return []footfall.Rule{
		{Route: route, Event: "success", Status: footfall.Success},
		{Route: route, Event: "client_error", Status: footfall.Status4xx},
		{Route: route, Event: "server_error", Status: footfall.Status5xx},
		{Route: route, Event: "aborted", Status: footfall.Aborted},
	}
}

// recovery notes the panics that it recovers, with their stacks.
type recovery struct {
	mu    sync.Mutex
	value any
	stack string
}

func (c *recovery) around(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			v := recover()
			c.mu.Lock()
			c.value, c.stack = v, string(debug.Stack())
			c.mu.Unlock()
			if v != nil {
				w.WriteHeader(http.StatusInternalServerError)
			}
		}()
		next.ServeHTTP(w, r)
	})
}

func (c *recovery) seen() (value any, stack string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.value, c.stack
}

func TestPanicReachesTheOuterRecoveryUnchangedAndIsRecorded(t *testing.T) {
	t.Parallel()
	failure := errors.New("a failure")
	for name, tc := range map[string]struct {
		value any
		want  []string
	}{
		"a string":                 {"boom", []string{"server_error"}},
		"an error":                 {failure, []string{"server_error"}},
		"a pointer":                {&struct{ n int }{1}, []string{"server_error"}},
		"the server's abort error": {http.ErrAbortHandler, []string{"aborted"}},
	} {
		for _, withoutValue := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				var outer recovery
				mux := http.NewServeMux()
				mux.HandleFunc("GET /p", func(http.ResponseWriter, *http.Request) { panicsByName(tc.value) })
				site := setup{
					rules:  onEveryClass("GET /p"),
					around: outer.around,
					config: func(c *footfall.Config) { c.NoContextValue = withoutValue },
				}.open(t, mux)
				site.get(t, "/p")
				assert.Equal(t, tc.want, site.names())
				value, stack := outer.seen()
				assert.True(t, value == tc.value, "got %v, want the same %v", value, tc.value)
				assert.Contains(t, stack, "panicsByName", "the stack leads to the handler")
			})
		}
	}
}

//go:noinline
func panicsByName(value any) { panic(value) }

func TestRuleWithoutStatusRecordsAPanicButNoAbort(t *testing.T) {
	t.Parallel()
	var outer recovery
	mux := http.NewServeMux()
	mux.HandleFunc("GET /boom", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusOK) // the first status was sent already
		panic("boom")
	})
	mux.HandleFunc("GET /abort", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	site := setup{
		rules:  []footfall.Rule{{Route: "GET /boom", Event: "boom"}, {Route: "GET /abort", Event: "abort"}},
		around: outer.around,
	}.open(t, mux)
	site.get(t, "/boom")
	site.get(t, "/abort")
	assert.Equal(t, []string{"boom"}, site.names())
}

func TestPanicWithoutRecoveryIsLeftToTheServer(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /p", func(http.ResponseWriter, *http.Request) { panic("boom") })
	site := setup{rules: onEveryClass("GET /p")}.open(t, mux)
	_, err := site.Client().Do(site.request(t, "GET", "/p", nil)) //nolint:bodyclose // there is none
	require.ErrorIs(t, err, io.EOF, "the server closes the connection as it would without us")
	assert.Equal(t, []string{"server_error"}, site.names())
}

func TestGoexitInAHandlerIsRecordedAsAborted(t *testing.T) {
	t.Parallel()
	var outer recovery
	mux := http.NewServeMux()
	mux.HandleFunc("GET /p", func(http.ResponseWriter, *http.Request) { runtime.Goexit() })
	site := setup{rules: onEveryClass("GET /p"), around: outer.around}.open(t, mux)
	_, err := site.Client().Do(site.request(t, "GET", "/p", nil)) //nolint:bodyclose // there is none
	require.ErrorIs(t, err, io.EOF)
	assert.Equal(t, []string{"aborted"}, site.names())
	value, stack := outer.seen()
	assert.Nil(t, value, "Goexit is no panic")
	assert.NotEmpty(t, stack, "and runs the deferred functions above")
}

func TestOuterMiddlewareSeesTheSameRequestAsWithoutFootfall(t *testing.T) {
	t.Parallel()
	type seen struct{ Pattern, PathValue, Form, Host string }
	look := func(s setup) seen {
		var got seen
		s.around = func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				next.ServeHTTP(w, r)
				got = seen{r.Pattern, r.PathValue("id"), r.Form.Get("q"), r.Host}
			})
		}
		mux := http.NewServeMux()
		mux.HandleFunc("GET /products/{id}", func(_ http.ResponseWriter, r *http.Request) {
			_ = r.FormValue("q")
			r.Host = "changed.example.com"
		})
		site := s.open(t, mux)
		site.get(t, "/products/42?q=shoes")
		site.Close()
		return got
	}
	bare := look(setup{without: true})
	require.Equal(t, "GET /products/{id}", bare.Pattern)
	require.Equal(t, "42", bare.PathValue)
	rules := []footfall.Rule{{Route: "GET /products/{id}"}}
	noValue := func(c *footfall.Config) { c.NoContextValue = true }
	for name, s := range map[string]setup{
		"with a context value":    {rules: rules},
		"without a context value": {rules: rules, config: noValue},
		"without a rule":          {},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, bare, look(s)) })
	}
}

func TestOriginalRequestKeepsItsContext(t *testing.T) {
	t.Parallel()
	type key struct{}
	var before, after context.Context
	site := setup{around: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r = r.WithContext(context.WithValue(r.Context(), key{}, "outer"))
			before = r.Context()
			next.ServeHTTP(w, r)
			after = r.Context()
		})
	}}.open(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Context().Value(key{}).(string))
	}))
	_, body := site.do(t, "GET", "/")
	site.Close()
	assert.Equal(t, "outer", body, "values above are visible below")
	assert.Same(t, before, after)
}

func TestDisabledAndNilTrackersLeaveTheMiddlewareTransparent(t *testing.T) {
	t.Parallel()
	disabled, err := footfall.New(footfall.Config{Disabled: true})
	require.NoError(t, err)
	for name, tracker := range map[string]*footfall.Tracker{"nil": nil, "disabled": disabled} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var fromContext, fromRequest error
			mux := http.NewServeMux()
			mux.HandleFunc("GET /products/{id}", func(w http.ResponseWriter, r *http.Request) {
				fromContext = footfall.Track(r.Context(), "seen")
				fromRequest = tracker.TrackRequest(r, "seen")
				_, _ = io.WriteString(w, r.PathValue("id"))
			})
			rules := []footfall.Rule{{Route: "GET /products/{id}"}, {Route: "no path"}, {Route: footfall.AnyRoute}}
			server := httptest.NewServer(tracker.Middleware(rules...)(mux))
			defer server.Close()
			resp, err := server.Client().Get(server.URL + "/products/42")
			require.NoError(t, err)
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			assert.Equal(t, "42", string(body))
			assert.NoError(t, fromContext)
			assert.NoError(t, fromRequest)
		})
	}
}

func TestDisabledTrackerLogsNoRules(t *testing.T) {
	t.Parallel()
	tracker, err := footfall.New(footfall.Config{Disabled: true})
	require.NoError(t, err)
	assert.NotPanics(t, func() { tracker.Middleware(footfall.Rule{Route: "GET /nowhere"})(http.NewServeMux()) })
}

func TestEventOfARuleIsMadeAfterTheHandlerReturned(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	site := setup{rules: []footfall.Rule{{Route: "POST /checkout", Event: "checkout_completed"}}}.open(t, mux)
	var during footfall.Stats
	mux.HandleFunc("POST /checkout", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusCreated)
		during = site.tracker.Stats()
	})
	site.do(t, "POST", "/checkout")
	events := site.events()
	assert.Zero(t, during.Tracked)
	require.Len(t, events, 1)
	assert.Equal(t, footfalltest.SiteID, events[0].SiteID)
	assert.Equal(t, shopURL+"/checkout", events[0].URL)
	assert.NotEmpty(t, events[0].ID)
}

func TestRefusedEventDoesNotChangeTheAnswer(t *testing.T) {
	t.Parallel()
	rule := footfall.Rule{Route: "GET /{id}", Props: []footfall.Prop{footfall.P("x", 1.5)}, Event: strings.Repeat("x", 200)}
	site := setup{
		rules:  []footfall.Rule{rule},
		config: func(c *footfall.Config) { c.MaxEventBytes, c.Limits.Name = 300, 200 },
	}.open(t, muxOf("GET /{id}"))
	status, _ := site.do(t, "GET", "/"+strings.Repeat("x", 2000))
	assert.Equal(t, http.StatusOK, status)
	assert.Empty(t, site.events())
	assert.Equal(t, uint64(1), site.tracker.Stats().Invalid)
}

func TestNoVisitorAddressOrUserAgentIsSent(t *testing.T) {
	t.Parallel()
	api := footfalltest.NewAPI(t)
	tracker, err := footfall.New(api.Config())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, closeTracker(tracker)) })
	mux := http.NewServeMux()
	mux.HandleFunc("GET /products/{id}", func(_ http.ResponseWriter, r *http.Request) {
		assert.NoError(t, footfall.Track(r.Context(), "by_context"))
		assert.NoError(t, tracker.TrackRequest(r, "by_request"))
	})
	handler := tracker.Middleware(
		footfall.Rule{Route: "GET /products/{id}", PathProps: []string{"id"}, Page: footfall.PageReferer},
		footfall.Rule{Route: "/products/{id}", Event: "any"},
		footfall.Rule{Route: footfall.NoRoute},
	)(mux)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.RemoteAddr = "203.0.113.99:4711" // the visitor's address
		handler.ServeHTTP(w, r)
	}))
	defer server.Close()
	for _, path := range []string{"/products/203.0.113.99?ref=203.0.113.99&ip=203.0.113.99", "/nowhere"} {
		resp, err := server.Client().Do(hostileRequest(t, server.URL+path))
		require.NoError(t, err)
		resp.Body.Close()
	}
	server.Close()
	require.NoError(t, tracker.Flush(t.Context()))
	requests := api.Requests()
	require.Len(t, requests, 5)
	for _, r := range requests {
		// The application chose the path.
		sent := strings.ReplaceAll(fmt.Sprintf("%s %v", r.Body, r.Header), "/products/203.0.113.99", "")
		for _, secret := range []string{"203.0.113.99", "198.51.100", "2001:db8", "SecretAgent", "s3cret"} {
			assert.NotContains(t, sent, secret)
		}
	}
}

// hostileRequest has a visitor's address and user agent in every header that proxies and
// browsers use.
func hostileRequest(t *testing.T, target string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, target, nil)
	require.NoError(t, err)
	r.Host = "shop.example.com"
	for name, value := range map[string]string{
		"User-Agent":          "SecretAgent/7.0",
		"X-Forwarded-For":     "203.0.113.99, 198.51.100.1",
		"X-Real-Ip":           "203.0.113.99",
		"X-Forwarded-Host":    "203.0.113.99",
		"X-Forwarded-Proto":   "https",
		"Forwarded":           `for="[2001:db8::1]";host=203.0.113.99`,
		"Cf-Connecting-Ip":    "203.0.113.99",
		"True-Client-Ip":      "203.0.113.99",
		"Sec-Ch-Ua":           `"SecretAgent";v="7"`,
		"Cookie":              "session=s3cret",
		"Authorization":       "Bearer s3cret",
		"Idempotency-Key":     "s3cret",
		"Traceparent":         "00-s3cret",
		"Referer":             "https://www.example.org/?token=s3cret&ref=203.0.113.99",
		"X-Http-Method":       "SecretAgent",
		"Content-Type":        "text/s3cret",
		"Accept-Language":     "s3cret",
		"X-Forwarded-Port":    "203.0.113.99",
		"X-Original-Url":      "/s3cret",
		"X-Client-Ip":         "2001:db8::1",
		"X-Cluster-Client-Ip": "198.51.100.1",
	} {
		r.Header.Set(name, value)
	}
	return r
}

func TestConcurrentClientsNeverGetEachOthersData(t *testing.T) {
	t.Parallel()
	const clients, visits = 64, 15
	mux := http.NewServeMux()
	mux.HandleFunc("POST /users/{id}/buy", func(w http.ResponseWriter, r *http.Request) {
		id := r.PathValue("id")
		assert.NoError(t, footfall.Track(r.Context(), "by_context", footfall.P("id", id)))
		_, _ = fmt.Fprint(w, id)
	})
	site := setup{
		rules:  []footfall.Rule{{Route: "POST /users/{id}/buy", Event: "by_rule", PathProps: []string{"id"}}},
		config: func(c *footfall.Config) { c.PublicURL = "" },
	}.open(t, mux)
	site.Client().Transport.(*http.Transport).MaxIdleConnsPerHost = clients
	var wg sync.WaitGroup
	for client := range clients {
		wg.Go(func() {
			for visit := range visits {
				id := fmt.Sprintf("%c%d-%d", 'a'+rune(client%26), client, visit)
				_, body := site.do(t, "POST", "/users/"+id+"/buy?ref="+id)
				assert.Equal(t, id, body)
			}
		})
	}
	wg.Wait()
	seen := make(map[string]int)
	for _, e := range site.events() {
		id := e.Props["id"].(string)
		assert.Equal(t, site.URL+"/users/"+id+"/buy?ref="+id, e.URL)
		seen[e.Name+id]++
	}
	assert.Len(t, seen, 2*clients*visits)
	for event, n := range seen {
		assert.Equal(t, 1, n, event)
	}
}
