package footfalltest

import (
	"net/http"
	"strings"
	"testing"

	"github.com/footfall-dev/footfall"
)

func slashAtTheEndIsOfTheRouter(t *testing.T, s Subject) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "none") {
			http.NotFound(w, r)
		}
	})
	route := Route{Method: "GET", Pattern: "/articles/{slug}/", Handler: handler}
	t.Run("a rule", func(t *testing.T) {
		t.Parallel()
		site := s.open(t, []footfall.Rule{s.rule("GET", "/articles/{slug}/", "article", 0), {Route: footfall.NoRoute, Event: "missing"}}, route)
		get(t, ownClient(t), site.URL+"/articles/known/")
		get(t, ownClient(t), site.URL+"/articles/none/")
		longer, _ := get(t, ownClient(t), site.URL+"/articles/known/and/more")
		expectNames(t, site.events(), "article", "article", "missing")
		for _, e := range site.Tracker.Events() {
			// A route that matches longer paths is a catch-all, whose 404 is for NoRoute.
			catchAll := longer.StatusCode == http.StatusOK
			if none := strings.HasSuffix(e.URL, "/none/"); none && (e.Name == "missing") != catchAll {
				t.Errorf("the handler's own 404 makes %s, and a longer path is answered %d", e.Name, longer.StatusCode)
			}
		}
	})
	t.Run("AnyRoute", func(t *testing.T) {
		t.Parallel()
		site := s.open(t, []footfall.Rule{{Route: footfall.AnyRoute}}, route)
		get(t, ownClient(t), site.URL+"/articles/known/")
		expectNames(t, site.events(), "get_articles_slug")
	})
}

// spellings are paths that some routers take for the path of a pattern.
var spellings = []struct{ pattern, target string }{
	{"/zur\u00fccksetzen/{key}", "/zur\u00fccksetzen/k3y"},
	{"/zur\u00fccksetzen/{key}", "/zur%C3%BCcksetzen/k3y"},
	{"/zur\u00fccksetzen/{key}", "/ZUR%C3%BCCKSETZEN/k3y"},
	{"/user/reset/{key}", "/user/reset/k3y"},
	{"/user/reset/{key}", "/USER/reset/k3y"},
	{"/user/reset/{key}", "/user/r%65set/k3y"},
	{"/user/reset/{key}", "/user/reset%2Fk3y"},
	{"/user/reset/{key}", "/user/reset/k3y/"},
	{"/user/reset/{key}", "//user/reset/k3y"},
	{"/my+page/{key}", "/my+page/k3y"},
	{"/my+page/{key}", "/my%2Bpage/k3y"},
}

func spellingsHideSecrets(t *testing.T, s Subject) {
	matched := make(map[string]bool)
	for _, tt := range spellings {
		t.Run(tt.target, func(t *testing.T) {
			site := s.open(t, []footfall.Rule{s.rule("GET", tt.pattern, "rule", 0), {Route: footfall.AnyRoute}},
				Route{Method: "GET", Pattern: tt.pattern, Handler: nothing})
			answer := rawly(t, site.URL, "GET "+tt.target+" HTTP/1.1\r\nHost: "+site.host()+"\r\nConnection: close\r\n\r\n")
			events := site.events()
			if strings.HasPrefix(answer, "HTTP/1.1 200") {
				matched[tt.pattern] = true
				expectNames(t, events, "rule")
			}
			for _, e := range events {
				if strings.Contains(e.URL, "k3y") || !strings.Contains(e.URL, "%7Bkey%7D") {
					t.Errorf("%s of %s is on page %q", e.Name, tt.pattern, e.URL)
				}
			}
		})
	}
	for _, tt := range spellings {
		if !matched[tt.pattern] {
			t.Errorf("no request matches %s", tt.pattern)
		}
	}
}
