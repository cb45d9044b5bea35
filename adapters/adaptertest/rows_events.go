package adaptertest

import (
	"bytes"
	"cmp"
	"crypto/tls"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
)

// anyRoute is a rule that names events after method and route.
var anyRoute = footfall.Rule{Route: footfall.AnyRoute}

func wildcardsBecomeProps(t *testing.T, f Framework) {
	rules := []footfall.Rule{
		{Route: f.route("GET", "/shops/{shop}/carts/{cart}"), Event: "viewed", Props: []footfall.Prop{footfall.P("kind", "cart")}, PathProps: []string{"shop", "cart"}},
		{Route: f.route("POST", "/carts/{cart}"), Event: "failed", PathProps: []string{"cart"}},
		{Route: f.route("GET", "/home"), Event: "home"},
	}
	want := []map[string]any{{"kind": "cart", "shop": "3", "cart": "x9"}, {"cart": "8"}, nil}
	for _, v := range f.Values {
		rule := footfall.Rule{Route: "GET " + v.Pattern, Event: "seen"}
		for name := range v.Want {
			rule.PathProps = append(rule.PathProps, name)
		}
		rules, want = append(rules, rule), append(want, v.Want)
	}
	tracker, app := quiet(t), f.New()
	app.Watch(tracker.Tracker, rules...)
	app.Handle(f.Pattern("/shops/{shop}"), "GET", f.Pattern("/carts/{cart}"), nothing)
	app.Handle("", "POST", f.Pattern("/carts/{cart}"), func(c Context) error { return c.Fail(http.StatusConflict) })
	app.Handle("", "GET", "/home", nothing)
	for _, v := range f.Values {
		app.Handle("", "GET", v.Pattern, nothing)
	}
	base, stop := open(t, app)
	get(t, base, "/shops/3/carts/x9")
	Ask(t, base, Request{Method: "POST", Path: "/carts/8"})
	get(t, base, "/home")
	for _, v := range f.Values {
		assert.Equal(t, http.StatusOK, get(t, base, v.Path), v.Path)
	}
	stop()
	events := tracker.Events()
	require.Len(t, events, len(want))
	for i, e := range events {
		assert.Equal(t, want[i], e.Props, e.URL)
	}
}

func trackKnowsTrackerAndPage(t *testing.T, f Framework) {
	tracker, app := quiet(t, silent), f.New()
	app.Watch(tracker.Tracker)
	ended := make(chan struct{})
	var outlives sync.WaitGroup
	app.Handle("/shops", "GET", f.Pattern("/{id}"), func(c Context) error {
		assert.NoError(t, c.Track("by the framework's context", footfall.P("left", 3), footfall.P("id", c.Param("id"))))
		assert.NoError(t, footfall.Track(c.Context(), "by the request's"))
		assert.Error(t, c.Track(""), "an event without a name")
		ctx := c.Context()
		outlives.Go(func() {
			<-ended
			assert.NoError(t, footfall.Track(ctx, "later"))
		})
		return c.Answer(http.StatusOK, "")
	})
	base, stop := open(t, app)
	Ask(t, base, Request{Method: "GET", Host: "shop.example.com", Path: "/shops/7?utm_source=radio&token=secret"})
	Ask(t, base, Request{Method: "GET", Host: "other.example.com", Path: "/"}) // frameworks use their context again
	stop()
	close(ended)
	outlives.Wait()
	events := tracker.Events()
	assert.Equal(t, []string{"by the framework's context", "by the request's", "later"}, tracker.Names())
	for _, e := range events {
		assert.Equal(t, "http://shop.example.com/shops/7?utm_source=radio", e.URL, e.Name)
	}
	assert.Equal(t, map[string]any{"left": 3.0, "id": "7"}, events[0].Props)
}

// silent drops what the tracker logs.
func silent(c *footfall.Config) { c.Logger = slog.New(slog.DiscardHandler) }

func trackWithoutMiddlewareSaysSo(t *testing.T, f Framework) {
	app := f.New()
	app.Handle("", "GET", "/lost", func(c Context) error {
		assert.ErrorIs(t, c.Track("lost"), footfall.ErrNoTracker)
		return c.Answer(http.StatusAccepted, "")
	})
	base, _ := open(t, app)
	assert.Equal(t, http.StatusAccepted, get(t, base, "/lost"))
}

func rulesNeedNoContextValue(t *testing.T, f Framework) {
	withoutContextValue(t, f, func(c Context, _ *http.Request, tracker *footfall.Tracker) string {
		assert.ErrorIs(t, c.Track("by the framework's context"), footfall.ErrNoTracker)
		if c.Request() == nil {
			return ""
		}
		assert.NoError(t, tracker.TrackRequest(c.Request(), "by the request"))
		return "by the request"
	})
}

func requestIsTheOriginal(t *testing.T, f Framework) {
	withoutContextValue(t, f, func(c Context, came *http.Request, _ *footfall.Tracker) string {
		assert.NotNil(t, came)
		assert.Same(t, came, c.Request())
		return ""
	})
}

// withoutContextValue runs look in a handler that answers and in one that fails. look gets
// the request of the middlewares above, and returns the name of an event that it tracks.
func withoutContextValue(t *testing.T, f Framework, look func(c Context, came *http.Request, tracker *footfall.Tracker) string) {
	tracker, app := quiet(t, func(c *footfall.Config) { c.NoContextValue = true }), f.New()
	var came *http.Request
	var want []string
	app.Use(func(c Context, next func() error) error {
		came = c.Request()
		return next()
	})
	app.Watch(tracker.Tracker, footfall.Rule{Route: f.route("GET", "/{way}"), Event: "seen", PathProps: []string{"way"}})
	app.Handle("", "GET", f.Pattern("/{way}"), func(c Context) error {
		if tracked := look(c, came, tracker.Tracker); tracked != "" {
			want = append(want, tracked)
		}
		want = append(want, "seen")
		if c.Param("way") == "fails" {
			return c.Fail(http.StatusConflict)
		}
		return c.Answer(http.StatusOK, "")
	})
	base, stop := open(t, app)
	assert.Equal(t, http.StatusOK, get(t, base, "/works"))
	assert.Equal(t, http.StatusConflict, get(t, base, "/fails"))
	stop()
	assert.Equal(t, want, tracker.Names())
}

func noTrackerChangesNothing(t *testing.T, f Framework) {
	disabled, err := footfall.New(footfall.Config{Disabled: true})
	require.NoError(t, err)
	for name, tracker := range map[string]*footfall.Tracker{"nil": nil, "disabled": disabled} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := f.New()
			var came any
			app.Recover()
			app.Use(func(_ Context, next func() error) error {
				defer func() {
					if came = recover(); came != nil {
						panic(came)
					}
				}()
				return next()
			})
			app.Watch(tracker, footfall.Rule{Route: f.route("GET", "/users/{id}"), PathProps: []string{"id"}}, anyRoute, footfall.Rule{Route: footfall.NoRoute})
			app.Handle("", "GET", f.Pattern("/users/{id}"), func(c Context) error {
				assert.NoError(t, c.Track("nowhere"))
				return c.Answer(http.StatusAccepted, c.Param("id"))
			})
			app.Handle("", "GET", "/fails", func(c Context) error { return c.Fail(http.StatusBadRequest) })
			app.Handle("", "GET", "/panics", func(Context) error { panic(errBoom) })
			base, _ := open(t, app)
			status, body := Ask(t, base, Request{Method: "GET", Path: "/users/7"})
			assert.Equal(t, http.StatusAccepted, status)
			assert.Equal(t, "7", body)
			assert.Equal(t, http.StatusBadRequest, get(t, base, "/fails"))
			assert.Equal(t, http.StatusNotFound, get(t, base, "/nowhere"))
			assert.Equal(t, http.StatusInternalServerError, get(t, base, "/panics"))
			assert.Equal(t, errBoom, came)
			assert.NoError(t, app.CheckRules(tracker, footfall.Rule{Route: "GET /nowhere"}))
		})
	}
}

// prefetches are requests whose answers no visitor sees.
var prefetches = map[string]Request{
	"Sec-Purpose": {Header: []string{"Sec-Purpose", "prefetch"}},
	"Purpose":     {Header: []string{"Purpose", "prefetch"}},
	"X-Moz":       {Header: []string{"X-Moz", "prefetch"}},
}

// skipped are requests that skip selects, each for another reason.
var skipped = map[string]Request{
	"a header":               {Header: []string{"User-Agent", "a bot"}},
	"a header, and it fails": {Header: []string{"User-Agent", "a bot"}, Path: "/fails"},
	"the header DNT":         {Header: []string{"DNT", "1"}},
	"the header Sec-GPC":     {Header: []string{"Sec-GPC", "1"}},
	"a cookie":               {Header: []string{"Cookie", "staff=1"}},
	"the path":               {Path: "/skipped"},
	"the method":             {Method: "PUT"},
	"the host":               {Host: "staff.example.com"},
}

func skip(r *http.Request) bool {
	return strings.Contains(r.UserAgent(), "bot") || r.Header.Get("DNT") == "1" || r.Header.Get("Sec-GPC") == "1" ||
		r.Header.Get("Cookie") == "staff=1" || r.URL.Path == "/skipped" || r.Method == "PUT" || r.Host == "staff.example.com" ||
		!strings.HasPrefix(r.RemoteAddr, "127.0.0.1:")
}

func skipSeesTheRequest(t *testing.T, f Framework) {
	all := maps.Clone(prefetches)
	maps.Copy(all, skipped)
	expectVisitsOnly(t, f, all, func(c *footfall.Config) { c.Skip = skip })
}

func headersAreSeenWithoutSkip(t *testing.T, f Framework) { expectVisitsOnly(t, f, prefetches) }

// expectVisitsOnly sends requests that make no event, and two that make one. The second of
// these fails.
func expectVisitsOnly(t *testing.T, f Framework, none map[string]Request, change ...func(*footfall.Config)) {
	tracker, app := quiet(t, change...), f.New()
	app.Watch(tracker.Tracker, footfall.Rule{Route: footfall.AnyRoute, Event: "seen", Page: footfall.PageReferer})
	page := func(c Context) error {
		if c.Param("page") == "fails" {
			return c.Fail(http.StatusConflict)
		}
		return c.Answer(http.StatusOK, "")
	}
	app.Handle("", "GET", f.Pattern("/{page}"), page)
	app.Handle("", "PUT", f.Pattern("/{page}"), page)
	base, stop := open(t, app)
	for name, r := range none {
		r.Method, r.Path = cmp.Or(r.Method, "GET"), cmp.Or(r.Path, "/page")
		status, _ := Ask(t, base, r)
		assert.Contains(t, []int{http.StatusOK, http.StatusConflict}, status, name)
		assert.Empty(t, tracker.Names(), name)
	}
	browser := []string{"Referer", "https://shop.example.com/basket?token=x", "User-Agent", "a browser"}
	Ask(t, base, Request{Method: "GET", Path: "/page", Header: browser})
	Ask(t, base, Request{Method: "GET", Path: "/fails", Header: browser})
	stop()
	events := tracker.Events()
	require.Len(t, events, 2)
	for _, e := range events {
		assert.Equal(t, "https://shop.example.com/basket", e.URL)
	}
}

func pageOverTLSIsHTTPS(t *testing.T, f Framework) {
	tracker, app := quiet(t), f.New()
	app.Watch(tracker.Tracker, footfall.Rule{Route: f.route("GET", "/page"), Event: "seen"})
	app.Handle("", "GET", "/page", nothing)
	lent := httptest.NewTLSServer(nil) // its certificate and its client
	defer lent.Close()
	base, stop := Open(t, app.Serve, &tls.Config{Certificates: lent.TLS.Certificates})
	status, said := Ask(t, base, Request{Method: "GET", Path: "/page", Client: lent.Client()})
	require.Equal(t, http.StatusOK, status, said)
	lent.Client().CloseIdleConnections()
	stop()
	events := tracker.Events()
	require.Len(t, events, 1)
	assert.Equal(t, base+"/page", events[0].URL)
}

func onlyTrustedProxiesCount(t *testing.T, f Framework) {
	for proxy, believed := range map[string]bool{"127.0.0.0/8": true, "192.0.2.0/24": false} {
		tracker := quiet(t, func(c *footfall.Config) { c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix(proxy)} })
		app := f.New()
		app.Watch(tracker.Tracker, footfall.Rule{Route: f.route("GET", "/page"), Event: "seen"})
		app.Handle("", "GET", "/page", nothing)
		base, stop := open(t, app)
		fromTheClient := []string{"X-Forwarded-Proto", "http", "X-Forwarded-Host", "client.example.com"}
		header := append(fromTheClient, "X-Forwarded-Proto", "https", "X-Forwarded-Host", "shop.example.com")
		Ask(t, base, Request{Method: "GET", Path: "/page", Header: header})
		stop()
		events := tracker.Events()
		require.Len(t, events, 1)
		if believed {
			base = "https://shop.example.com"
		}
		assert.Equal(t, base+"/page", events[0].URL)
	}
}

func wrongRuleIsLogged(t *testing.T, f Framework) {
	var logged bytes.Buffer
	tracker := quiet(t, func(c *footfall.Config) { c.Logger = slog.New(slog.NewTextHandler(&logged, nil)) })
	app := f.New()
	app.Watch(tracker.Tracker, footfall.Rule{Event: "wrong"}, footfall.Rule{Route: f.route("GET", "/page"), Event: "right"})
	app.Handle("", "GET", "/page", nothing)
	base, stop := open(t, app)
	get(t, base, "/page")
	get(t, base, "/page")
	stop()
	assert.Equal(t, []string{"right", "right"}, tracker.Names())
	assert.Equal(t, 1, strings.Count(logged.String(), "a rule may have no effect"), "once, not for each request")
}
