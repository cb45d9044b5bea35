package adaptertest

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/footfall-dev/footfall"
)

// Check is a rule that CheckRules accepts, or refuses with an error that contains Says.
type Check struct {
	Name string
	Rule footfall.Rule
	Says string // "" for no error
}

func checkRulesKnowsTheRoutes(s *Stage) {
	s.Register(s.App)
	check := func(rules ...footfall.Rule) error { return s.App.CheckRules(s.Tracker.Tracker, rules...) }
	CheckRules(s.T, check, s.Known, [2]string{"GET /a", "GET /b"}, s.Checks)
}

// CheckRules tests that an adapter's CheckRules refuses routes that are not registered, and routes
// that share an automatic name.
// known and unknown are routes as rules name them.
func CheckRules(t *testing.T, check func(rules ...footfall.Rule) error, known string, unknown [2]string, checks []Check) {
	t.Helper()
	for _, c := range checks {
		t.Run(c.Name, func(t *testing.T) {
			err := check(c.Rule)
			if c.Says == "" {
				assert.NoError(t, err)
				return
			}
			assert.ErrorContains(t, err, c.Says)
			_, ok := errors.AsType[*footfall.FieldError](err)
			assert.True(t, ok, "a *footfall.FieldError")
		})
	}
	t.Run("several rules", func(t *testing.T) {
		err := check(footfall.Rule{Route: unknown[0]}, footfall.Rule{Route: known}, footfall.Rule{Route: unknown[1]})
		assert.ErrorContains(t, err, unknown[0])
		assert.ErrorContains(t, err, unknown[1])
		assert.NotContains(t, err.Error(), `Rule{"`+known)
	})
	t.Run("rules that share an automatic name", func(t *testing.T) {
		err := check(footfall.Rule{Route: "GET /one/two"}, footfall.Rule{Route: "GET /one-two"})
		assert.ErrorContains(t, err, "GET /one/two and GET /one-two have the same automatic name, get_one_two")
	})
}

// Routes returns checks of rules for known routes, which CheckRules accepts, and for unknown
// ones, which it refuses.
func Routes(known, unknown []string) (checks []Check) {
	for _, route := range known {
		checks = append(checks, Check{Name: route, Rule: footfall.Rule{Route: route, Event: "seen"}})
	}
	for _, route := range unknown {
		checks = append(checks, Check{Name: "no " + route, Rule: footfall.Rule{Route: route, Event: "seen"}, Says: "Rule{"})
	}
	return checks
}

// RegisterColons adds the routes of Colons.
func RegisterColons(a App) {
	a.Handle(nil, "GET", "/users/:id", Fine)
	a.Handle([]string{"/api", "/v1"}, "POST", "/carts", Fine)
	a.Handle(nil, "", "/hooks", Fine)
}

// Colons returns checks for a router that writes wildcards with a colon.
func Colons() []Check {
	return []Check{
		{"a route", footfall.Rule{Route: "GET /users/:id", PathProps: []string{"id"}}, ""},
		{"a route under any method", footfall.Rule{Route: "/users/:id"}, ""},
		{"a route of groups", footfall.Rule{Route: "POST /api/v1/carts"}, ""},
		{"a route of any method", footfall.Rule{Route: "PATCH /hooks"}, ""},
		{"every route", footfall.Rule{Route: footfall.AnyRoute}, ""},
		{"no route", footfall.Rule{Route: footfall.NoRoute}, ""},
		{"another method", footfall.Rule{Route: "POST /users/:id"}, "not registered"},
		{"another name of the wildcard", footfall.Rule{Route: "GET /users/:name"}, "not registered"},
		{"a path instead of a pattern", footfall.Rule{Route: "GET /users/7"}, "not registered"},
		{"a route of groups without the prefix", footfall.Rule{Route: "POST /carts"}, `not registered in the router; the nearest is POST /api/v1/carts: give the rules its prefix, as footfall.Prefix("/api/v1", rules...) does`},
		{"a pattern of net/http", footfall.Rule{Route: "GET /users/{id}"}, "not registered in the router; the nearest is GET /users/:id"},
		{"a host", footfall.Rule{Route: "GET example.com/users/:id"}, "not registered"},
		{"a wildcard that the route lacks", footfall.Rule{Route: "GET /users/:id", PathProps: []string{"name"}}, "not a wildcard"},
		{"no path", footfall.Rule{Route: "users"}, "has no path"},
	}
}
