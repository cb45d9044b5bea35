package footfalltest

import (
	"io"
	"net/http"
	"slices"
	"testing"

	"github.com/footfall-dev/footfall"
)

// answering is a handler that answers with a status, and header fields by name and value.
func answering(status int, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		if status != http.StatusNotModified && status != http.StatusNoContent {
			_, _ = io.WriteString(w, "part.") // the client may be gone
		}
	}
}

// stay does not follow redirects.
var stay = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

func catchAllsAreToldApart(t *testing.T, s Subject) {
	open := func(t *testing.T, rules ...footfall.Rule) *site {
		return s.open(t, rules,
			Route{Method: "GET", Pattern: "/help", Handler: nothing},
			Route{Method: "GET", Pattern: "/help/{rest...}", Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/help/me/missing" {
					http.NotFound(w, r)
				}
			})})
	}
	all, missing := footfall.Rule{Route: footfall.AnyRoute}, footfall.Rule{Route: footfall.NoRoute}
	t.Run("names", func(t *testing.T) {
		t.Parallel()
		site := open(t, all)
		for _, path := range []string{"/help", "/help/me/now", "/help/me/missing"} {
			get(t, ownClient(t), site.URL+path)
		}
		names := namesOf(site.events())
		if want := []string{"get_help_any", "get_help_rest"}; len(names) != 2 || names[0] != "get_help" || !slices.Contains(want, names[1]) {
			t.Errorf("events %q, want get_help and one of %q", names, want)
		}
	})
	t.Run("its 404", func(t *testing.T) {
		t.Parallel()
		site := open(t, missing, s.rule("GET", "/help/{rest...}", "helped", 0))
		get(t, ownClient(t), site.URL+"/help/me/now")
		get(t, ownClient(t), site.URL+"/help/me/missing")
		expectNames(t, site.events(), "get_no_route", "helped")
	})
	t.Run("its 404, asked for", func(t *testing.T) {
		t.Parallel()
		site := open(t, missing, s.rule("GET", "/help/{rest...}", "helpless", footfall.Status4xx))
		get(t, ownClient(t), site.URL+"/help/me/now")
		get(t, ownClient(t), site.URL+"/help/me/missing")
		expectNames(t, site.events(), "helpless")
	})
}

func rulesForARouteSilenceAnyRoute(t *testing.T, s Subject) {
	none := s.rule("GET", "/health", footfall.NoEvent, 0)
	bought := s.rule("POST", "/checkout", "bought", footfall.Success)
	site := s.open(t, []footfall.Rule{none, bought, {Route: footfall.AnyRoute, Event: "any"}},
		Route{Method: "GET", Pattern: "/health", Handler: tracks(t)},
		Route{Method: "POST", Pattern: "/checkout", Fail: http.StatusConflict},
		Route{Method: "GET", Pattern: "/checkout", Handler: nothing})
	for _, request := range [][2]string{{"GET", "/health"}, {"POST", "/checkout"}, {"GET", "/checkout"}} {
		site.send(t, request[0], request[1], site.host())
	}
	expectNames(t, site.events(), "any", "tracked")
}

func statusIsAPropAndAClass(t *testing.T, s Subject) {
	classes := map[string]footfall.StatusClass{"2xx": footfall.Status2xx, "3xx": footfall.Status3xx, "success": footfall.Success, "failure": footfall.Failure, "all": 0}
	for _, tt := range []struct {
		path   string
		status int
		want   []string
	}{
		{"/created", http.StatusCreated, []string{"2xx", "all", "success"}},
		{"/moved", http.StatusSeeOther, []string{"3xx", "all", "success"}},
		{"/fails", http.StatusConflict, []string{"all", "failure"}},
	} {
		t.Run(tt.path, func(t *testing.T) {
			t.Parallel()
			var rules []footfall.Rule
			for name, class := range classes {
				rule := s.rule("GET", tt.path, name, class)
				rule.StatusProp = "status"
				rules = append(rules, rule)
			}
			route := Route{Method: "GET", Pattern: tt.path, Handler: answering(tt.status, "Location", "/elsewhere")}
			if tt.status >= 400 {
				route.Handler, route.Fail = nil, tt.status
			}
			site := s.open(t, rules, route)
			get(t, stay, site.URL+tt.path)
			events := site.events()
			expectNames(t, events, tt.want...)
			for _, e := range events {
				if e.Props["status"] != float64(tt.status) {
					t.Errorf("%s has status %v, want %d", e.Name, e.Props["status"], tt.status)
				}
			}
		})
	}
}

// files are requests for files with their answers; visit says that AnyRoute counts them.
var files = []struct {
	path   string
	answer http.HandlerFunc
	visit  bool
}{
	{"/page", answering(200, "Content-Type", "text/html; charset=utf-8"), true},
	{"/data", answering(200, "Content-Type", "application/json"), true},
	{"/style.css", answering(200, "Content-Type", "text/css; charset=utf-8"), false},
	{"/app.js", answering(200, "Content-Type", "text/javascript"), false},
	{"/logo.png", answering(200, "Content-Type", "image/png"), false},
	{"/same", answering(304), false},
	{"/first", answering(206, "Content-Type", "application/pdf", "Content-Range", "bytes 0-4/10"), true},
	{"/later", answering(206, "Content-Type", "application/pdf", "Content-Range", "bytes 5-9/10"), false},
}

func assetsAreNoVisits(t *testing.T, s Subject) {
	var routes []Route
	var visits, all []string
	for _, f := range files {
		routes = append(routes, Route{Method: "GET", Pattern: f.path, Handler: f.answer})
		if all = append(all, f.path); f.visit {
			visits = append(visits, f.path)
		}
	}
	open := func(t *testing.T, rules ...footfall.Rule) (paths []string) {
		site := s.open(t, rules, routes...)
		for _, f := range files {
			get(t, ownClient(t), site.URL+f.path)
		}
		for _, e := range site.events() {
			paths = append(paths, e.URL[len(site.URL):])
		}
		return paths
	}
	for _, tt := range []struct {
		name string
		rule footfall.Rule
		want []string
	}{
		{"AnyRoute", footfall.Rule{Route: footfall.AnyRoute}, visits},
		{"AnyRoute with Assets", footfall.Rule{Route: footfall.AnyRoute, Assets: true}, all},
		{"a rule that names an asset", s.rule("GET", "/logo.png", "shown", 0), []string{"/logo.png"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if paths := open(t, tt.rule); !slices.Equal(paths, tt.want) {
				t.Errorf("events on %q, want %q", paths, tt.want)
			}
		})
	}
}
