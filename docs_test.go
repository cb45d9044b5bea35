package footfall_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
)

// docs/frameworks.md describes rules above a router that is not an http.ServeMux.
func TestRulesAboveAnotherRouter(t *testing.T) {
	t.Parallel()
	router := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/missing" {
			w.WriteHeader(http.StatusNotFound)
		}
	})
	site := setup{rules: []footfall.Rule{
		{Route: "GET /user/reset/{key}", Event: "reset_opened", PathProps: []string{"key"}},
		{Route: footfall.AnyRoute},
		{Route: footfall.NoRoute},
	}}.open(t, router)
	site.get(t, "/user/reset/abc")
	site.get(t, "/other")
	site.get(t, "/missing")
	assert.ElementsMatch(t, []string{"reset_opened", "get_no_route"}, eventNames(site.events()))
	assert.Contains(t, urls(site.events()), "https://shop.example.com/user/reset/%7Bkey%7D")
}

// docs/frameworks.md describes the events of a form that always redirects.
func TestFormThatRedirectsEitherWay(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /login/{answer}", func(w http.ResponseWriter, r *http.Request) {
		if r.PathValue("answer") == "right" {
			assert.NoError(t, footfall.Track(r.Context(), "logged_in"))
		}
		w.Header().Set("Location", "/")
		w.WriteHeader(http.StatusSeeOther)
	})
	site := setup{rules: []footfall.Rule{{Route: "GET /login/{answer}", Event: "by_rule", Status: footfall.Success}}}.open(t, mux)
	site.get(t, "/login/right")
	site.get(t, "/login/wrong")
	assert.ElementsMatch(t, []string{"logged_in", "by_rule", "by_rule"}, eventNames(site.events()))
}

func eventNames(events []footfalltest.Event) (names []string) {
	for _, e := range events {
		names = append(names, e.Name)
	}
	return names
}
