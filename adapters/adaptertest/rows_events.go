package adaptertest

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"sync"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
)

// anyRoute is a rule that names events after method and route.
var anyRoute = footfall.Rule{Route: footfall.AnyRoute}

// nameOf is the name that AnyRoute gives to events of a route of On.
func (s *Stage) nameOf(path string) string {
	return strings.ToLower(s.Method() + strings.NewReplacer("/", "_", ".", "_").Replace(s.Service+path))
}

func wildcardsBecomeProps(s *Stage) {
	rules := []footfall.Rule{
		{Route: s.Route("/shops/{shop}/carts/{cart}"), Event: "viewed", Props: []footfall.Prop{footfall.P("kind", "cart")}, PathProps: []string{"shop", "cart"}},
		{Route: "POST " + s.Pattern("/carts/{cart}"), Event: "failed", PathProps: []string{"cart"}},
		{Route: s.Route("/home"), Event: "home"},
	}
	want := []map[string]any{{"kind": "cart", "shop": "3", "cart": "x9"}, {"cart": "8"}, nil}
	for _, v := range s.Values {
		rule := Seen("GET " + v.Pattern)
		for name := range v.Want {
			rule.PathProps = append(rule.PathProps, name)
		}
		rules, want = append(rules, rule), append(want, v.Want)
	}
	s.Watch(rules...)
	s.App.Handle([]string{s.Pattern("/shops/{shop}")}, "GET", s.Pattern("/carts/{cart}"), Fine)
	s.App.Handle(nil, "POST", s.Pattern("/carts/{cart}"), Failing(http.StatusConflict))
	s.On("/home", Fine)
	for _, v := range s.Values {
		s.App.Handle(nil, "GET", v.Pattern, Fine)
	}
	s.Get("/shops/3/carts/x9")
	s.Ask(Request{Method: "POST", Path: "/carts/8"})
	s.Get("/home")
	for _, v := range s.Values {
		assert.Equal(s, http.StatusOK, s.Get(v.Path), v.Path)
	}
	s.Stop()
	events := s.Tracker.Events()
	require.Len(s, events, len(want))
	for i, e := range events {
		assert.Equal(s, want[i], e.Props, e.URL)
	}
}

func rulesForTheRouteApply(s *Stage) {
	_, path, _ := strings.Cut(s.Route("/page"), " ")
	other := map[string]string{"GET": "POST", "POST": "GET"}[s.Method()]
	s.Watch(Seen(path),
		footfall.Rule{Route: s.Route("/page"), Event: "successful", Status: footfall.Success},
		footfall.Rule{Route: path},
		footfall.Rule{Route: other + " " + path, Event: "of another method"},
		footfall.Rule{Route: path, Event: "failed", Status: footfall.Failure | footfall.Aborted},
		anyRoute, footfall.Rule{Route: footfall.NoRoute, Event: "missing"})
	s.On("/page", Fine)
	s.On("/other", Fine)
	s.Get("/page")
	s.ExpectPage(s.URL("/page"), "seen", "successful", s.nameOf("/page"))
}

func trackKnowsTrackerAndPage(s *Stage) {
	s.Watch()
	ended := make(chan struct{})
	var outlives sync.WaitGroup
	s.On("/shop", func(c Context) error {
		assert.NoError(s, c.Track("by the framework's context", footfall.P("left", 3)))
		assert.NoError(s, footfall.Track(c.Context(), "by the request's"))
		assert.Error(s, c.Track(""), "an event without a name")
		ctx := c.Context()
		outlives.Go(func() {
			<-ended
			assert.NoError(s, footfall.Track(ctx, "later"))
		})
		return c.Answer(http.StatusOK, "")
	})
	query, kept := "?utm_source=radio&token=secret", "?utm_source=radio"
	if s.Service != "" {
		query, kept = "", ""
	}
	client := s.Connect()
	defer client.Close()
	s.By(client, Request{Host: "shop.example.com", Path: "/shop" + query})
	s.By(client, Request{Host: "other.example.com", Path: "/"}) // frameworks use their context again
	client.Close()
	s.Stop()
	close(ended)
	outlives.Wait()
	s.ExpectPage("http://shop.example.com"+s.Service+"/shop"+kept, "by the framework's context", "by the request's", "later")
	assert.Equal(s, map[string]any{"left": 3.0}, s.Tracker.Events()[0].Props)
}

func trackKnowsThePageOfWhoLeft(s *Stage) {
	s.Watch(Classes(s.Route("/slow"))...)
	arrived := make(chan struct{})
	s.On("/slow", func(c Context) error {
		close(arrived)
		<-c.Context().Done()
		assert.NoError(s, c.Track("gone"))
		return c.Fail(499)
	})
	s.Ask(Request{Path: "/slow", Left: arrived})
	s.ExpectPage(s.URL("/slow"), "gone", "client error")
}

func trackWithoutMiddlewareSaysSo(s *Stage) {
	s.On("/lost", func(c Context) error {
		assert.ErrorIs(s, c.Track("lost"), footfall.ErrNoTracker)
		return Fine(c)
	})
	assert.Equal(s, http.StatusOK, s.Get("/lost"))
}

func rulesNeedNoContextValue(s *Stage) {
	withoutContextValue(s, func(s *Stage, c Context, _ *http.Request) string {
		assert.ErrorIs(s, c.Track("by the framework's context"), footfall.ErrNoTracker)
		if c.Request() == nil {
			return ""
		}
		assert.NoError(s, s.Tracker.TrackRequest(c.Request(), "by the request"))
		return "by the request"
	})
}

func requestIsTheOriginal(s *Stage) {
	withoutContextValue(s, func(s *Stage, c Context, came *http.Request) string {
		assert.NotNil(s, came)
		assert.Same(s, came, c.Request())
		return ""
	})
}

// withoutContextValue runs look in a handler that answers and in one that fails. look gets
// the request of the middlewares above, and returns the name of an event that it tracks.
func withoutContextValue(s *Stage, look func(s *Stage, c Context, came *http.Request) string) {
	s = s.Another(s.T, func(c *footfall.Config) { c.NoContextValue = true })
	var came *http.Request
	var want []string
	s.App.Use(func(c Context, next func() error) error {
		came = c.Request()
		return next()
	})
	var rules []footfall.Rule
	looking := func(then Handler) Handler {
		return func(c Context) error {
			if tracked := look(s, c, came); tracked != "" {
				want = append(want, tracked)
			}
			want = append(want, "seen")
			return then(c)
		}
	}
	ways := map[string]Handler{"/works": Fine, "/fails": Failing(http.StatusConflict)}
	for path := range ways {
		rules = append(rules, Seen(s.Route(path)))
	}
	s.Watch(rules...)
	for path, then := range ways {
		s.On(path, looking(then))
	}
	assert.Equal(s, http.StatusOK, s.Get("/works"))
	assert.Equal(s, http.StatusConflict, s.Get("/fails"))
	s.Stop()
	s.Expect(want...)
}

func noTrackerChangesNothing(s *Stage) {
	disabled, err := footfall.New(footfall.Config{Disabled: true})
	require.NoError(s, err)
	for name, tracker := range map[string]*footfall.Tracker{"nil": nil, "disabled": disabled} {
		s.Each(name, func(s *Stage) {
			var came any
			s.App.Recover()
			s.App.Use(func(_ Context, next func() error) error {
				defer func() {
					if came = recover(); came != nil {
						panic(came)
					}
				}()
				return next()
			})
			s.App.Watch(tracker, footfall.Rule{Route: s.Route("/page")}, anyRoute, footfall.Rule{Route: footfall.NoRoute})
			s.On("/page", func(c Context) error {
				assert.NoError(s, c.Track("nowhere"))
				assert.NoError(s, footfall.Track(c.Context(), "nowhere"))
				return c.Answer(http.StatusOK, "7")
			})
			s.On("/fails", Failing(http.StatusConflict))
			s.On("/panics", func(Context) error { panic(errBoom) })
			status, body := s.Ask(Request{Path: "/page"})
			assert.Equal(s, http.StatusOK, status)
			assert.Equal(s, "7", body)
			assert.Equal(s, http.StatusConflict, s.Get("/fails"))
			if s.Service == "" {
				assert.Equal(s, http.StatusNotFound, s.Get("/nowhere"))
			}
			assert.Equal(s, http.StatusInternalServerError, s.Get("/panics"))
			assert.Equal(s, errBoom, came)
			assert.NoError(s, s.App.CheckRules(tracker, footfall.Rule{Route: "GET /nowhere"}))
		})
	}
}

func rulesForARouteSilenceAnyRoute(s *Stage) {
	s.Watch(footfall.Rule{Route: s.Route("/health"), Event: footfall.NoEvent},
		footfall.Rule{Route: s.Route("/failing"), Event: "done", Status: footfall.Success}, footfall.Rule{Route: footfall.AnyRoute, Event: "any"}, anyRoute)
	s.On("/health", Fine)
	s.On("/failing", Failing(http.StatusConflict))
	s.On("/other", Fine)
	for _, path := range []string{"/health", "/failing", "/other"} {
		s.Get(path)
	}
	s.ExpectPage(s.URL("/other"), "any", s.nameOf("/other"))
}

func statusIsAPropAndAClass(s *Stage) {
	s.Watch(footfall.Rule{Route: footfall.AnyRoute, Event: "any", StatusProp: "status"},
		footfall.Rule{Route: footfall.AnyRoute, Event: "2xx", Status: footfall.Status2xx, StatusProp: "status"},
		footfall.Rule{Route: footfall.AnyRoute, Event: "3xx", Status: footfall.Status3xx, StatusProp: "status"})
	s.On("/works", Fine)
	s.On("/fails", Failing(http.StatusConflict))
	s.Get("/works")
	s.Get("/fails")
	for i, e := range s.Expect("any", "2xx", "any") {
		assert.Equal(s, []float64{200, 200, 409}[i], e.Props["status"])
	}
}

func siteAboveIsTheEvents(s *Stage) {
	for _, siteID := range []string{"site_above", ""} {
		s.Each("site "+siteID, func(s *Stage) {
			s.App.Use(func(c Context, next func() error) error {
				c.SetContext(footfall.WithSite(c.Context(), siteID))
				return next()
			})
			s.Watch(Seen(s.Route("/page")), footfall.Rule{Route: s.Route("/page"), Event: "of the rule's", SiteID: "site_rule"})
			s.On("/page", func(c Context) error {
				assert.NoError(s, c.Track("in"))
				return Fine(c)
			})
			s.Get("/page")
			above := cmp.Or(siteID, footfalltest.SiteID)
			for i, e := range s.Expect("in", "seen", "of the rule's") {
				assert.Equal(s, []string{above, above, "site_rule"}[i], e.SiteID, e.Name)
			}
		})
	}
}

// How many clients, and how many requests each makes.
const clients, requestsEach = 64, 12

func clientsDoNotMix(s *Stage) {
	s = s.Another(s.T, func(c *footfall.Config) { c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} })
	pattern, rule, each := "/echo/{n}", footfall.Rule{Route: footfall.AnyRoute, Event: "answered", PathProps: []string{"n"}}, requestsEach
	if s.Service != "" { // of each kind
		pattern, rule.PathProps, each = "/echo", nil, requestsEach/4
	}
	left := make(chan struct{})
	var beside, all sync.WaitGroup
	s.Watch(rule)
	s.On(pattern, func(c Context) error {
		n := strings.Clone(c.Header("X-Number"))
		assert.NoError(s, c.Track("tracked", footfall.P("n", c.Header("X-Number"))))
		ctx := c.Context()
		beside.Go(func() {
			<-left
			assert.NoError(s, footfall.Track(context.WithoutCancel(ctx), "beside", footfall.P("n", n)))
		})
		return c.Answer(http.StatusOK, n)
	})
	s.open()
	for number := range clients {
		all.Go(func() {
			client := s.Connect()
			defer client.Close()
			for i := range each {
				n := fmt.Sprint(number*each + i)
				_, body := s.By(client, Request{Path: strings.ReplaceAll(pattern, "{n}", n), Header: append(forwarded("n"+n+".example.com"), "X-Number", n)})
				assert.Equal(s, n, body)
			}
		})
	}
	all.Wait()
	s.Stop()
	close(left)
	beside.Wait()
	counted := make(map[string]int)
	for _, e := range s.Tracker.Events() {
		host, _, _ := strings.Cut(e.URL, ".example.com")
		n := strings.TrimPrefix(host, "https://n")
		assert.Equal(s, "https://n"+n+".example.com"+s.Service+strings.ReplaceAll(pattern, "{n}", n), e.URL)
		if e.Name != "answered" || s.Service == "" {
			assert.Equal(s, n, e.Props["n"])
		}
		counted[e.Name+n]++
	}
	assert.Len(s, counted, 3*clients*each)
	assert.Len(s, s.Tracker.Events(), 3*clients*each)
}

// forwarded are the headers of a proxy that tells the visitor's host.
func forwarded(host string) []string {
	return []string{"X-Forwarded-Proto", "https", "X-Forwarded-Host", host}
}

func wrongRuleIsLogged(s *Stage) {
	var log footfalltest.Log
	s = s.Another(s.T, func(c *footfall.Config) { c.Logger = log.Logger() })
	s.Watch(footfall.Rule{Event: "wrong"}, footfall.Rule{Route: "nowhere"}, footfall.Rule{Route: s.Route("/page"), Event: "right"})
	s.On("/page", Fine)
	s.Get("/page")
	logged := log.String()
	s.Get("/page")
	s.Expect("right", "right")
	for _, problem := range []string{"nowhere", "empty"} {
		assert.Contains(s, logged, problem)
	}
	assert.Equal(s, logged, log.String(), "logged for each request")
}
