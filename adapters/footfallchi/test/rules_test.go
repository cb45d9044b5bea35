package footfallchi_test

import (
	"net/http"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/adaptertest"
	"github.com/footfall-dev/footfall/adapters/footfallchi"
	"github.com/footfall-dev/footfall/footfalltest"
)

func TestPathPropsAreTheRoutersValues(t *testing.T) {
	t.Parallel()
	forEachPlace(t, func(t *testing.T, place func(footfalltest.App, func(*chi.Mux)) http.Handler) {
		tracker := footfalltest.New(t)
		rules := []footfall.Rule{
			{Route: "GET /orgs/{org}/teams/{team:[a-z]+}/", Event: "team", PathProps: []string{"org", "team"}},
			{Route: "GET /a/{id}/b/{id}", Event: "twice", PathProps: []string{"id"}},
		}
		handler := place(footfalltest.App{Tracker: tracker.Tracker, Rules: rules}, func(router *chi.Mux) {
			router.Route("/orgs/{org}", func(r chi.Router) {
				r.Route("/teams/{team:[a-z]+}", func(r chi.Router) { r.Get("/", nothing) })
			})
			router.Route("/a/{id}", func(r chi.Router) { r.Get("/b/{id}", nothing) })
		})
		ask(handler, "GET", "/orgs/acme/teams/red")
		ask(handler, "GET", "/a/1/b/2")
		events := tracker.Events()
		require.Len(t, events, 2)
		assert.Equal(t, map[string]any{"org": "acme", "team": "red"}, events[0].Props)
		assert.Equal(t, map[string]any{"id": "2"}, events[1].Props, "the innermost, as chi.URLParam has it")
	})
}

// Only routes that pass CheckRules make events.
func TestARouteThatCheckRulesKnowsMakesEvents(t *testing.T) {
	t.Parallel()
	requests := map[string]string{
		"GET /docs/": "/docs", "GET /files/*": "/files", "GET /api/": "/api/", "GET /api": "/api", "GET /pages/*": "/pages/",
		"GET /api/v1/orders/{order:[0-9]+}": "/api/v1/orders/7", "/orgs/{org}/teams": "/orgs/a/teams", "GET /api/assets/*": "/api/assets/",
	}
	forEachPlace(t, func(t *testing.T, place func(footfalltest.App, func(*chi.Mux)) http.Handler) {
		for route, target := range requests {
			tracker := footfalltest.New(t)
			handler := place(footfalltest.App{Tracker: tracker.Tracker, Rules: []footfall.Rule{{Route: route, Event: "seen"}}}, town)
			ask(handler, "GET", target)
			assert.Equal(t, []string{"seen"}, tracker.Names(), route)
		}
	})
}

func TestRulesOfTheCallerAreNotChanged(t *testing.T) {
	t.Parallel()
	rules := []footfall.Rule{{Route: "GET /docs/", Event: "read"}}
	footfallchi.Middleware(footfalltest.New(t).Tracker, rules...)
	assert.Equal(t, "GET /docs/", rules[0].Route)
}

// checks are rules for the routes of town.
var checks = adaptertest.Routes([]string{
	"GET /", "GET /docs", "GET /docs/", "/docs", "GET /static/*", "GET /files/*", "GET /api", "GET /api/", "GET /api/users/{id}",
	"GET /api/v1/orders/{order:[0-9]+}", "GET /api/shared/more", "GET /pages/*", "GET /orgs/{org}/teams", "GET /private/{room}",
	footfall.AnyRoute, footfall.NoRoute,
}, []string{
	"POST /docs", "GET /users/{id}", "GET /api/*", "GET /api/users/{user}", "GET /api/users/:id", "GET /api/v1/orders/{order}",
	"GET /api/v1", "GET shop.example.com/docs", "",
})
