package footfalltest

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/footfall-dev/footfall"
)

// openWith is open with a Config that change has changed.
func (s Subject) openWith(t *testing.T, change func(*footfall.Config), rules []footfall.Rule, routes ...Route) *site {
	t.Helper()
	tracker := New(t, func(c *footfall.Config) { c.DefaultURL = "" }, change)
	return s.serve(t, App{Tracker: tracker.Tracker, Rules: rules, Routes: routes, Recovered: func(any) {}}, tracker)
}

// send sends a request without a body, with the target unchanged. Header are lines.
func (s *site) send(t *testing.T, method, target, host string, header ...string) {
	t.Helper()
	lines := append([]string{method + " " + target + " HTTP/1.1", "Host: " + host, "Connection: close", "Content-Length: 0"}, header...)
	if answer := rawly(t, s.URL, strings.Join(lines, "\r\n")+"\r\n\r\n"); !strings.HasPrefix(answer, "HTTP/1.1 ") || strings.HasPrefix(answer, "HTTP/1.1 400") {
		t.Errorf("%s %.60q to host %q is answered with %.100q", method, target, host, answer)
	}
}

// host is the host of the site, as clients name it.
func (s *site) host() string { return strings.TrimPrefix(s.URL, "http://") }

// tracks returns a handler that calls Track.
func tracks(t *testing.T) http.HandlerFunc {
	return func(_ http.ResponseWriter, r *http.Request) {
		if err := footfall.Track(r.Context(), "tracked"); err != nil {
			t.Error(err)
		}
	}
}

// expectPages checks the pages of all events of each name.
func expectPages(t *testing.T, events []Event, want map[string]string) {
	t.Helper()
	for _, e := range events {
		if page, ok := want[e.Name]; !ok || e.URL != page {
			t.Errorf("%s is on page %q, want %q", e.Name, e.URL, page)
		}
	}
	for name := range want {
		if !slices.ContainsFunc(events, func(e Event) bool { return e.Name == name }) {
			t.Errorf("there is no event %s", name)
		}
	}
}

func clientsCostNoEvent(t *testing.T, s Subject) {
	long := strings.Repeat("how-to-", 430)
	invalid := []string{"\ufffd\ufffd", "%ff%fe", "%FF%FE"} // some routers leave escapes in values
	tests := []struct {
		name, target, host string
		page               string   // without the address of the site
		values             []string // allowed values of the wildcard
	}{
		{"invalid UTF-8, escaped", "/articles/%ff%fe", "", "/articles/%ff%fe", invalid},
		{"invalid UTF-8", "/articles/\xff\xfe", "", "/articles/%FF%FE", invalid},
		{"a control character", "/articles/a%00b", "", "/articles/a%00b", []string{"a\ufffdb", "a%00b"}},
		{"a long path", "/articles/" + long, "", "/articles/", []string{long[:1000]}},
		{"a long query", "/articles/7?ref=" + long + "&source=mail", "", "/articles/7?source=mail", []string{"7"}},
		{"a host that is none", "/articles/7", "shop$example!com", "http://unknown.invalid/articles/7", []string{"7"}},
	}
	rule := s.rule("GET", "/articles/{slug}", "read", 0)
	rule.PathProps = []string{"slug"}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var log Log
			site := s.openWith(t, func(c *footfall.Config) { c.Logger = log.Logger() }, []footfall.Rule{rule},
				Route{Method: "GET", Pattern: "/articles/{slug}", Handler: tracks(t)})
			page, host := tt.page, tt.host
			if host == "" {
				host, page = site.host(), site.URL+page
			}
			site.send(t, "GET", tt.target, host)
			events := site.events()
			expectNames(t, events, "read", "tracked")
			expectPages(t, events, map[string]string{"read": page, "tracked": page})
			expectSafe(t, site, events, tt.values)
			if _ = site.Tracker.Close(context.Background()); log.Lines(slog.LevelWarn)+log.Lines(slog.LevelError) > 0 {
				t.Errorf("logged: %s", log.String())
			}
		})
	}
}

// expectSafe checks the value of the wildcard slug and what the Stats count.
func expectSafe(t *testing.T, site *site, events []Event, values []string) {
	t.Helper()
	escaped := false
	for _, e := range events {
		value, ok := e.Props["slug"].(string)
		if ok && (!slices.Contains(values, value) || !utf8.ValidString(value)) {
			t.Errorf("the wildcard has %.100q", value)
		}
		escaped = escaped || strings.Contains(value, "%") // and is not sanitized
	}
	if stats := site.Tracker.Stats(); stats.Invalid > 0 || stats.Sanitized == 0 && !escaped {
		t.Errorf("of %d events %d were sanitized, %d were invalid", len(events), stats.Sanitized, stats.Invalid)
	}
}

// secretPaths are requests with their routes, and the path of the page if the route is
// known.
var secretPaths = []struct{ name, target, pattern, page string }{
	{"a wildcard that is a secret", "/user/reset/secretkey123", "/user/reset/{key}", "/user/reset/%7Bkey%7D"},
	{"an e-mail address", "/u/ada@example.com/posts", "/u/{name}/posts", "/u/%7Bname%7D/posts"},
	{"an e-mail address, escaped", "/u/ada%40example.com/posts", "/u/{name}/posts", "/u/%7Bname%7D/posts"},
	{"a token", "/join/9f8c7b6a5d4e3f2a1b0c9d8e7f6a5b4c", "/join/{link}", "/join/%7Blink%7D"},
	{"a JSON Web Token", "/enter/eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl", "/enter/{link}", "/enter/%7Blink%7D"},
	{"nothing to hide", "/products/blue-suede-shoes-size-44", "/products/{name}", "/products/blue-suede-shoes-size-44"},
}

func secretsInPathsAreReplaced(t *testing.T, s Subject) {
	for _, tt := range secretPaths {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			rule := s.rule("GET", tt.pattern, "seen", 0)
			byRoute := rule
			byRoute.Event, byRoute.Page = "by route", footfall.PageRoute
			site := s.open(t, []footfall.Rule{rule, byRoute}, Route{Method: "GET", Pattern: tt.pattern, Handler: nothing})
			get(t, ownClient(t), site.URL+tt.target)
			expectPages(t, site.events(), map[string]string{"seen": site.URL + tt.page, "by route": site.URL + inBraces(tt.pattern)})
		})
	}
	t.Run("of a request without a route", func(t *testing.T) {
		t.Parallel()
		site := s.open(t, []footfall.Rule{{Route: footfall.NoRoute, Event: "missing"}}, Route{Method: "GET", Pattern: "/known", Handler: nothing})
		get(t, ownClient(t), site.URL+"/u/ada@example.com/posts")
		expectPages(t, site.events(), map[string]string{"missing": site.URL + "/u/%5Bredacted%5D/posts"})
	})
}

// inBraces returns the path of a page with PageRoute.
func inBraces(pattern string) string {
	return strings.NewReplacer("{", "%7B", "}", "%7D").Replace(pattern)
}

func trackKnowsTheRoute(t *testing.T, s Subject) {
	for _, source := range []footfall.PageSource{footfall.PagePath, footfall.PageRoute} {
		for _, tt := range secretPaths {
			t.Run(fmt.Sprintf("%s, page %d", tt.name, source), func(t *testing.T) {
				t.Parallel()
				site := s.openWith(t, func(c *footfall.Config) { c.Page = source },
					[]footfall.Rule{s.rule("GET", tt.pattern, "seen", 0)},
					Route{Method: "GET", Pattern: tt.pattern, Handler: tracks(t)})
				get(t, ownClient(t), site.URL+tt.target)
				page := site.URL + tt.page
				if source == footfall.PageRoute {
					page = site.URL + inBraces(tt.pattern)
				}
				expectPages(t, site.events(), map[string]string{"seen": page, "tracked": page})
			})
		}
	}
}

func hostIsOneOfTheList(t *testing.T, s Subject) {
	for host, want := range map[string]string{
		"shop.example.com":       "http://shop.example.com",
		"SHOP.example.com":       "http://shop.example.com",
		"eu.shop.example.com:81": "http://eu.shop.example.com:81",
		"evil.example":           "http://shop.example.com",
		"shop.example.com.evil":  "http://shop.example.com",
		"shop$example!com":       "http://shop.example.com",
	} {
		t.Run(host, func(t *testing.T) {
			t.Parallel()
			hosts := func(c *footfall.Config) { c.Hosts = []string{"shop.example.com", "*.shop.example.com"} }
			site := s.openWith(t, hosts, []footfall.Rule{s.rule("GET", "/cart", "seen", 0)},
				Route{Method: "GET", Pattern: "/cart", Handler: tracks(t)})
			site.send(t, "GET", "/cart", host)
			events := site.events()
			for i := range events {
				events[i].URL = strings.ToLower(events[i].URL) // some servers change the case of hosts
			}
			expectPages(t, events, map[string]string{"seen": want + "/cart", "tracked": want + "/cart"})
		})
	}
}

func pageIsTheConfigured(t *testing.T, s Subject) {
	const app = "https://app.example.com/editor/7?utm_source=mail"
	referer, header := []string{"Referer: " + app}, "X-Page: https://app.example.com/inbox"
	tests := []struct {
		name   string
		source footfall.PageSource
		header []string
		want   string // "" is the page of the request
	}{
		{"the Referer", footfall.PageReferer, referer, app},
		{"no Referer", footfall.PageReferer, nil, ""},
		{"a Referer of another host", footfall.PageReferer, []string{"Referer: https://evil.example/x"}, ""},
		{"a Referer that is none", footfall.PageReferer, []string{"Referer: about:blank"}, ""},
		{"a Referer with a secret", footfall.PageReferer, []string{"Referer: https://app.example.com/u/a@b.cc?token=1"}, "https://app.example.com/u/%5Bredacted%5D"},
		{"the Referer is not asked for", footfall.PagePath, referer, ""},
		{"the header", 0, []string{header}, "https://app.example.com/inbox"},
		{"the header before the Referer", footfall.PageReferer, append(referer, header), "https://app.example.com/inbox"},
		{"the header with another host", footfall.PageReferer, append(referer, "X-Page: https://evil.example/x"), app},
		{"the header with another host and no Referer", 0, []string{"X-Page: https://app.example.com.evil.example/x"}, ""},
		{"the header without a host", 0, []string{"X-Page: /inbox"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tracker := New(t, func(c *footfall.Config) {
				c.DefaultURL, c.Page, c.PageHeader, c.Hosts = "", tt.source, "X-Page", []string{"127.0.0.1", "app.example.com"}
			})
			site := s.serve(t, App{
				Tracker: tracker.Tracker, Recovered: func(any) {},
				Rules: []footfall.Rule{s.rule("POST", "/api/articles", "rule", 0)},
				Routes: []Route{{Method: "POST", Pattern: "/api/articles", Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					tracks(t)(w, r)
					if err := tracker.TrackRequest(r, "of the request"); err != nil {
						t.Error(err)
					}
				})}},
			}, tracker)
			site.send(t, "POST", "/api/articles", site.host(), tt.header...)
			page := tt.want
			if page == "" {
				page = site.URL + "/api/articles"
			}
			expectPages(t, site.events(), map[string]string{"rule": page, "tracked": page, "of the request": page})
		})
	}
}
