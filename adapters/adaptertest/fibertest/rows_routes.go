package fibertest

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/adaptertest"
	"github.com/footfall-dev/footfall/footfalltest"
)

func (s Subject[C, R]) errorIsAnsweredOnce(t *testing.T) {
	tracker, calls := footfalltest.New(t), 0
	answering := func(status int) R {
		app := s.New(Config[C]{OnError: func(c C, err error) error {
			calls++
			if status == 0 {
				return err
			}
			return c.SendStatus(status)
		}})
		return app
	}
	inner, broken, app := answering(http.StatusConflict), answering(0), answering(http.StatusTeapot)
	app.Use(s.Middleware(tracker.Tracker, adaptertest.Classes(footfall.AnyRoute)...))
	for _, a := range []R{inner, broken, app} {
		s.get(a, "/fails", func(C) error { return errFails })
	}
	s.Mount(app, "/inner", inner)
	s.Mount(app, "/broken", broken)
	base, stop := s.open(t, app)
	for path, want := range map[string]int{"/fails": 418, "/inner/fails": 409, "/broken/fails": 500} {
		calls = 0
		assert.Equal(t, want, ask(t, base, "GET", path), path)
		assert.Equal(t, 1, calls, path)
	}
	stop()
	assert.ElementsMatch(t, []string{"client error", "client error", "server error"}, tracker.Names())
}

func (s Subject[C, R]) errorGoesOn(t *testing.T) {
	disabled, err := footfall.New(footfall.Config{Disabled: true})
	require.NoError(t, err)
	recording := footfalltest.New(t)
	for name, watch := range map[string]func(C) error{
		"below another rule":       s.Middleware(recording.Tracker, seen("GET /known")),
		"below a nil tracker":      s.Middleware(nil, seen(footfall.AnyRoute), seen(footfall.NoRoute)),
		"below a disabled tracker": s.Middleware(disabled, seen(footfall.AnyRoute), seen(footfall.NoRoute)),
	} {
		t.Run(name, func(t *testing.T) {
			app := s.New(Config[C]{})
			var came error
			app.Use(func(c C) error {
				if came = c.Next(); came != nil {
					return c.SendStatus(http.StatusTeapot)
				}
				return nil
			}, watch)
			s.get(app, "/fails", func(C) error { return errFails })
			base, stop := s.open(t, app)
			assert.Equal(t, http.StatusTeapot, ask(t, base, "GET", "/missing"))
			assert.Equal(t, http.StatusTeapot, ask(t, base, "GET", "/fails"))
			stop()
			assert.Same(t, errFails, came)
		})
	}
	assert.Empty(t, recording.Names())
}

func (s Subject[C, R]) whatUseAnswersIsNoRoute(t *testing.T) {
	tracker := footfalltest.New(t)
	app := s.watched(tracker, seen("/"), seen("/assets"),
		footfall.Rule{Route: footfall.NoRoute, Event: "missing"}, footfall.Rule{Route: footfall.AnyRoute, Event: "another"})
	answering := func(status int) func(C) error { return func(c C) error { return c.SendStatus(status) } }
	app.Use("/assets", fine[C])
	app.Use("/private", answering(http.StatusUnauthorized))
	s.get(app, "/private/page", fine[C])
	s.get(app, "/", fine[C])
	s.get(app, "/:slug", next[C]) // knows no such page
	app.Use(answering(http.StatusNotFound))
	base, stop := s.open(t, app)
	ask(t, base, "GET", "/assets/logo.svg")
	ask(t, base, "GET", "/private/page")
	assert.Empty(t, tracker.Names())
	ask(t, base, "GET", "/nobody")
	ask(t, base, "DELETE", "/a/b/c")
	stop()
	assert.Equal(t, []string{"missing", "missing"}, tracker.Names())
}

func (s Subject[C, R]) headIsNoVisit(t *testing.T) {
	tracker := footfalltest.New(t)
	app := s.watched(tracker, seen("GET /"), seen("/"), seen("/asked"),
		footfall.Rule{Route: "HEAD /asked", Event: "asked"}, footfall.Rule{Route: footfall.AnyRoute})
	for _, path := range []string{"/", "/asked", "/other"} {
		s.get(app, path, fine[C])
	}
	base, stop := s.open(t, app)
	for _, path := range []string{"/", "/asked", "/other"} {
		assert.Equal(t, http.StatusOK, ask(t, base, "HEAD", path))
	}
	stop()
	assert.Equal(t, []string{"asked"}, tracker.Names())
}

func (s Subject[C, R]) routedAgainIsCountedOnce(t *testing.T) {
	tracker := footfalltest.New(t)
	app := s.watched(tracker, seen(footfall.AnyRoute))
	s.get(app, "/old", func(c C) error {
		c.Path("/new")
		return c.RestartRouting()
	})
	s.get(app, "/new", func(c C) error { return s.Track(c, "tracked") })
	base, stop := s.open(t, app)
	ask(t, base, "GET", "/old")
	stop()
	require.Equal(t, []string{"tracked", "seen"}, tracker.Names())
	for _, e := range tracker.Events() {
		assert.Equal(t, base+"/old", e.URL)
	}
}

func (s Subject[C, R]) oneMiddlewareServesAll(t *testing.T) {
	tracker := footfalltest.New(t)
	middleware := s.Middleware(tracker.Tracker, seen("GET /api/:id"), footfall.Rule{Route: "GET /alone", Event: "alone"})
	first, second := s.New(Config[C]{}), s.New(Config[C]{})
	s.get(s.Group(first, "/api", Handlers[C]{middleware}), "/:id", fine[C])
	s.get(second, "/alone", middleware, fine[C])
	s.get(second, "/api/:id", fine[C])
	one, stopOne := s.open(t, first)
	two, stopTwo := s.open(t, second)
	ask(t, one, "GET", "/api/7")
	ask(t, two, "GET", "/alone")
	ask(t, two, "GET", "/api/7") // not below the middleware
	ask(t, one, "GET", "/api/8")
	stopOne()
	stopTwo()
	assert.Equal(t, []string{"seen", "alone", "seen"}, tracker.Names())
}

func (s Subject[C, R]) checkRulesKnows(t *testing.T) {
	inner, app := s.New(Config[C]{}), s.New(Config[C]{})
	s.get(inner, "/orders/:id", next[C])
	app.Use("/only/used", next[C])
	s.Mount(app, "/shop", inner)
	s.Add(s.Group(app, "/api", nil), "POST", "/users", Handlers[C]{next[C]})
	tracker := footfalltest.New(t).Tracker
	var checks []adaptertest.Check
	for _, route := range []string{"GET /shop/orders/:id", "HEAD /shop/orders/:id", "POST /api/users", "/api/users", footfall.AnyRoute, footfall.NoRoute} {
		checks = append(checks, adaptertest.Check{Name: route, Rule: footfall.Rule{Route: route}})
	}
	for _, route := range []string{"GET /orders/:id", "GET /api/users", "GET /only/used", "GET /shop", "GET /"} {
		checks = append(checks, adaptertest.Check{Name: route, Rule: footfall.Rule{Route: route}, Says: `Rule{"` + route + `"}.Route: not registered`})
	}
	check := func(rules ...footfall.Rule) error { return s.CheckRules(tracker, app, rules...) }
	adaptertest.CheckRules(t, check, "POST /api/users", [2]string{"GET /a", "GET /b"}, checks)
	assert.NoError(t, s.CheckRules(nil, app, footfall.Rule{Route: "GET /unknown"}))
}
