package footfalltest

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/footfall-dev/footfall"
)

var nothing = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})

func routeIsTheFullPattern(t *testing.T, s Subject) {
	t.Run("a wildcard", func(t *testing.T) {
		rule := s.rule("GET", "/users/{id}/orders/{order}", "seen", 0)
		rule.PathProps = []string{"id", "order"}
		site := s.open(t, []footfall.Rule{rule}, Route{Method: "GET", Pattern: "/users/{id}/orders/{order}", Handler: nothing})
		get(t, ownClient(t), site.URL+"/users/7/orders/x9?utm_source=mail&token=secret")
		events := site.events()
		expectNames(t, events, "seen")
		for _, e := range events {
			if e.Props["id"] != "7" || e.Props["order"] != "x9" {
				t.Errorf("props %v", e.Props)
			}
			if want := site.URL + "/users/7/orders/x9?utm_source=mail"; e.URL != want {
				t.Errorf("page %q, want %q", e.URL, want)
			}
		}
	})
	if len(s.Nested) == 0 {
		t.Error("the subject says of no way to compose routers what the full pattern is")
	}
	for _, n := range s.Nested {
		t.Run(n.Name, func(t *testing.T) {
			nested := s
			nested.Handler, nested.Serve = n.Handler, n.Serve
			site := nested.open(t, []footfall.Rule{{Route: n.Route, Event: "seen"}, {Route: footfall.AnyRoute, Event: "another"}}, Route{Handler: nothing})
			host := n.Host
			if host == "" {
				host = "example.com"
			}
			answer := rawly(t, site.URL, fmt.Sprintf("%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", n.Method, n.Path, host))
			if !strings.HasPrefix(answer, "HTTP/1.1 200") {
				t.Errorf("the composed route answered %.100q", answer)
			}
			expectNames(t, site.events(), "seen")
		})
	}
}

func missingRoutesMakeNoEvent(t *testing.T, s Subject) {
	ask := func(t *testing.T, rules ...footfall.Rule) []Event {
		site := s.open(t, rules, Route{Method: "GET", Pattern: "/known", Handler: nothing})
		get(t, ownClient(t), site.URL+"/secret/path")
		resp, err := ownClient(t).Post(site.URL+"/known", "text/plain", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusMethodNotAllowed && resp.StatusCode != http.StatusNotFound {
			t.Errorf("a method that is not registered is answered with %d", resp.StatusCode)
		}
		return site.events()
	}
	t.Run("not asked", func(t *testing.T) {
		expectNames(t, ask(t, footfall.Rule{Route: footfall.AnyRoute}, s.rule("GET", "/known", "known", 0)))
	})
	t.Run("asked", func(t *testing.T) {
		expectNames(t, ask(t, footfall.Rule{Route: footfall.NoRoute, Event: "missing"}), "missing", "missing")
	})
	t.Run("asked without a name", func(t *testing.T) {
		expectNames(t, ask(t, footfall.Rule{Route: footfall.NoRoute}), "get_no_route", "post_no_route")
	})
}

func siteAboveIsTheEvents(t *testing.T, s Subject) {
	ofSite := s.rule("GET", "/page", "rule_of_site", 0)
	ofSite.SiteID = "site_rule"
	tracker := newQuiet(t)
	site := s.serve(t, App{
		Tracker: tracker.Tracker, Recovered: func(any) {},
		Rules: []footfall.Rule{s.rule("GET", "/page", "rule", 0), ofSite},
		SiteOf: func(host string) string {
			return map[string]string{"a.example.com": "site_a", "b.example.com": "site_b"}[host]
		},
		Routes: []Route{{Method: "GET", Pattern: "/page", Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if err := footfall.Track(r.Context(), "handler"); err != nil {
				t.Error(err)
			}
		})}},
	}, tracker)
	sites := map[string]string{"a.example.com": "site_a", "b.example.com": "site_b", "c.example.com": SiteID}
	for host := range sites {
		rawly(t, site.URL, "GET /page HTTP/1.1\r\nHost: "+host+"\r\nConnection: close\r\n\r\n")
	}
	events := site.events()
	expectNames(t, events, "handler", "handler", "handler", "rule", "rule", "rule", "rule_of_site", "rule_of_site", "rule_of_site")
	for _, e := range events {
		want := sites[strings.TrimSuffix(strings.TrimPrefix(e.URL, "http://"), "/page")]
		if e.Name == "rule_of_site" {
			want = "site_rule"
		}
		if e.SiteID != want {
			t.Errorf("%s on %s is of site %q, want %q", e.Name, e.URL, e.SiteID, want)
		}
	}
}

// How many clients, and how many requests each makes.
const clients, requestsEach = 64, 20

func clientsDoNotMix(t *testing.T, s Subject) {
	rule := s.rule("GET", "/echo/{n}", "answered", 0)
	rule.PathProps = []string{"n"}
	site := s.open(t, []footfall.Rule{rule}, Route{Method: "GET", Pattern: "/echo/{n}", Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		number := strings.Clone(r.Header.Get("X-Number"))
		if err := footfall.Track(r.Context(), "tracked", footfall.P("n", number)); err != nil {
			t.Error(err)
		}
		_, _ = io.WriteString(w, number)
	})})
	var all sync.WaitGroup
	for c := range clients {
		all.Go(func() { visitEcho(t, site.URL, c) })
	}
	all.Wait()
	seen := make(map[string]int)
	for _, e := range site.events() {
		n, _ := e.Props["n"].(string)
		if want := site.URL + "/echo/" + n + "?ref=" + n; e.URL != want {
			t.Errorf("%s of %q is on page %q", e.Name, n, e.URL)
		}
		seen[e.Name+n]++
	}
	for n := range clients * requestsEach {
		for _, name := range []string{"answered", "tracked"} {
			if key := fmt.Sprintf("%s%d", name, n); seen[key] != 1 {
				t.Errorf("%s was counted %d times", key, seen[key])
			}
		}
	}
}

func visitEcho(t *testing.T, url string, client int) {
	own := &http.Client{Transport: &http.Transport{}, Timeout: patience}
	defer own.CloseIdleConnections()
	for i := range requestsEach {
		n := fmt.Sprint(client*requestsEach + i)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/echo/"+n+"?ref="+n, nil)
		if err != nil {
			t.Error(err)
			return
		}
		r.Header.Set("X-Number", n)
		resp, err := own.Do(r)
		if err != nil {
			t.Error(err)
			return
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || string(body) != n {
			t.Errorf("request %s was answered with %q, %v", n, body, err)
		}
	}
}

func trackWorksEverywhere(t *testing.T, s Subject) {
	left, arrived, gone := make(chan struct{}), make(chan struct{}), make(chan struct{})
	var outlives sync.WaitGroup
	track := func(ctx context.Context, name string) {
		if err := footfall.Track(ctx, name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	site := s.open(t, nil,
		Route{Method: "GET", Pattern: "/in", Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { track(r.Context(), "in") })},
		Route{Method: "GET", Pattern: "/beside", Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			ctx := r.Context()
			outlives.Go(func() {
				<-left
				track(ctx, "beside")
			})
		})},
		Route{Method: "GET", Pattern: "/gone", Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			close(arrived)
			<-gone
			track(r.Context(), "gone")
		})})
	get(t, ownClient(t), site.URL+"/in")
	get(t, ownClient(t), site.URL+"/beside")
	leave(t, site.URL, "/gone", arrived)
	close(gone)
	site.stop()
	close(left)
	outlives.Wait()
	events := site.Tracker.Events()
	expectNames(t, events, "beside", "gone", "in")
	for _, e := range events {
		if want := site.URL + "/" + e.Name; e.URL != want {
			t.Errorf("%s is on page %q, want %q", e.Name, e.URL, want)
		}
	}
}

// leave requests path and, once the request has arrived, disconnects without waiting
// for the answer.
func leave(t *testing.T, url, path string, arrived <-chan struct{}) {
	t.Helper()
	host := strings.TrimPrefix(url, "http://")
	conn, err := net.DialTimeout("tcp", host, patience)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", path, host); err != nil {
		t.Fatal(err)
	}
	select {
	case <-arrived:
	case <-time.After(patience):
		t.Error("the request did not arrive")
	}
}
