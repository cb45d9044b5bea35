package footfalltest

import (
	"net/http"
	"strings"
	"testing"

	"github.com/footfall-dev/footfall"
)

func ruleMayNameTheReferer(t *testing.T, s Subject) {
	const app = "https://app.example.com/editor/7"
	byReferer := s.rule("POST", "/api/articles", "by referer", 0)
	byReferer.Page = footfall.PageReferer
	rules := []footfall.Rule{byReferer, s.rule("POST", "/api/articles", "by path", 0)}
	route := Route{Method: "POST", Pattern: "/api/articles", Handler: nothing}
	for name, tt := range map[string]struct {
		header []string
		page   string // "" is the page of the request
	}{
		"a Referer":           {[]string{"Referer: " + app}, app},
		"no Referer":          {nil, ""},
		"none that is a page": {[]string{"Referer: about:blank"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			site := s.open(t, rules, route)
			site.send(t, "POST", "/api/articles", site.host(), tt.header...)
			own := site.URL + "/api/articles"
			page := tt.page
			if page == "" {
				page = own
			}
			expectPages(t, site.events(), map[string]string{"by referer": page, "by path": own})
		})
	}
}

func prefetchIsNoVisit(t *testing.T, s Subject) {
	site := s.open(t, []footfall.Rule{s.rule("GET", "/page", "seen", 0), s.rule("POST", "/page", "sent", 0)},
		Route{Method: "GET", Pattern: "/page", Handler: nothing}, Route{Method: "POST", Pattern: "/page", Handler: nothing})
	for _, header := range []string{"Sec-Purpose: prefetch;prerender", "Purpose: prefetch", "X-Moz: prefetch", "Sec-Fetch-Mode: navigate"} {
		site.send(t, "GET", "/page", site.host(), header)
		site.send(t, "POST", "/page", site.host(), header)
	}
	expectNames(t, site.events(), "seen", "sent", "sent", "sent", "sent")
}

func noRouteNeedsNoOtherRule(t *testing.T, s Subject) {
	site := s.open(t, []footfall.Rule{{Route: footfall.NoRoute, Event: "missing"}},
		Route{Method: "GET", Pattern: "/known", Handler: http.NotFoundHandler()},
		Route{Method: "GET", Pattern: "/help/{rest...}", Handler: http.NotFoundHandler()})
	for _, path := range []string{"/known", "/help/me/now", "/nowhere"} {
		get(t, ownClient(t), site.URL+path)
	}
	events := site.events()
	expectNames(t, events, "missing", "missing")
	for _, e := range events {
		if strings.HasSuffix(e.URL, "/known") {
			t.Errorf("a 404 of the handler of /known is for NoRoute")
		}
	}
}

func trackRequestNeedsNoContextValue(t *testing.T, s Subject) {
	const token = "9f8c7b6a5d4e3f2a1b0c9d8e7f6a5b4c"
	tracker := New(t, func(c *footfall.Config) { c.DefaultURL, c.NoContextValue = "", true })
	site := s.serve(t, App{
		Tracker: tracker.Tracker, Recovered: func(any) {},
		Rules: []footfall.Rule{s.rule("GET", "/articles/{slug}", "rule", 0)},
		Routes: []Route{{Method: "GET", Pattern: "/articles/{slug}", Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if err := footfall.Track(r.Context(), "tracked"); err != footfall.ErrNoTracker {
				t.Errorf("Track without a context value returns %v", err)
			}
			if err := tracker.TrackRequest(r, "of the request"); err != nil {
				t.Error(err)
			}
		})}},
	}, tracker)
	get(t, ownClient(t), site.URL+"/articles/blue-shoes?ref=mail&secret=1")
	get(t, ownClient(t), site.URL+"/articles/"+token)
	for i, e := range site.events() {
		if i < 2 && e.URL != site.URL+"/articles/blue-shoes?ref=mail" || strings.Contains(e.URL, token) {
			t.Errorf("%s is on page %q", e.Name, e.URL)
		}
	}
	expectNames(t, tracker.Events(), "of the request", "of the request", "rule", "rule")
}

func ownTrackKnowsTheRoute(t *testing.T, s Subject) {
	if !s.Tracks {
		t.Log("the subject does not call the adapter's own Track")
		return
	}
	for _, source := range []footfall.PageSource{footfall.PagePath, footfall.PageRoute} {
		for _, tt := range secretPaths {
			t.Run(tt.name, func(t *testing.T) {
				t.Parallel()
				site := s.openWith(t, func(c *footfall.Config) { c.Page = source }, nil,
					Route{Method: "GET", Pattern: tt.pattern, Event: "own", Handler: nothing})
				get(t, ownClient(t), site.URL+tt.target)
				page := site.URL + tt.page
				if source == footfall.PageRoute {
					page = site.URL + inBraces(tt.pattern)
				}
				expectPages(t, site.events(), map[string]string{"own": page})
			})
		}
	}
}
