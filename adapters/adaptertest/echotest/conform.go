package echotest

import (
	"net/http"
	"testing"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/adaptertest"
	"github.com/footfall-dev/footfall/footfalltest"
)

// Conform runs the conformance suite. Not in parallel: its row about uploads sets an
// environment variable.
func (s Subject[C, H, M, R, G, E]) Conform(t *testing.T) {
	pattern := adaptertest.Replace(":", "*")
	adaptertest.Run(t, footfalltest.Subject{
		Pattern: pattern, Tracks: true, Impossible: s.Impossible,
		Nested: append(append(s.nested(), s.nestedEchos()...), s.Nested(s.compose)...),
		Handler: func(_ testing.TB, app footfalltest.App) http.Handler {
			e := s.New()
			e.Use(s.Using(app)...)
			for _, r := range app.Routes {
				handler := H(func(C) error { return s.Error(r.Fail, errBoom) })
				if r.Fail == 0 {
					handler = s.WrapHandler(r.Handler)
				}
				e.Add(r.Method, pattern(r.Pattern), func(c C) error {
					if r.Event != "" {
						_ = s.Track(c, r.Event) // the row misses the event
					}
					return handler(c)
				})
			}
			return e
		},
	})
}

// Using returns app's middleware, as arguments for Use; none if app has no tracker.
func (s Subject[C, H, M, R, G, E]) Using(app footfalltest.App) []M {
	if app.Tracker == nil {
		return nil
	}
	return []M{s.Middleware(app.Tracker, app.Rules...)}
}

func (s Subject[C, H, M, R, G, E]) compose(name, method, path, route string, compose func(e E, app footfalltest.App, h H)) footfalltest.Nested {
	return adaptertest.Nested(name, method, path, route, func(app footfalltest.App) http.Handler {
		e := s.New()
		compose(e, app, s.WrapHandler(app.Routes[0].Handler))
		return e
	})
}

// User is a composition with the middleware in Use and the route GET /users/:id.
func (s Subject[C, H, M, R, G, E]) User(e E, app footfalltest.App, h H) {
	e.Use(s.Using(app)...)
	e.GET("/users/:id", h)
}

// with registers the handler below the middleware in Use.
func (s Subject[C, H, M, R, G, E]) with(register func(e E, h H)) func(E, footfalltest.App, H) {
	return func(e E, app footfalltest.App, h H) {
		e.Use(s.Using(app)...)
		register(e, h)
	}
}

func (s Subject[C, H, M, R, G, E]) nested() []footfalltest.Nested {
	return []footfalltest.Nested{
		s.compose("groups in groups", "GET", "/api/v1/users/7", "GET /api/v1/users/:id", s.with(func(e E, h H) {
			e.Group("/api").Group("/v1").GET("/users/:id", h)
		})),
		s.compose("a group with a wildcard", "POST", "/shops/3/carts/9", "POST /shops/:shop/carts/:cart", s.with(func(e E, h H) {
			e.Group("/shops/:shop").POST("/carts/:cart", h)
		})),
		s.compose("the middleware on a group", "GET", "/api/users/7", "GET /api/users/:id", func(e E, app footfalltest.App, h H) {
			e.Group("/api", s.Using(app)...).GET("/users/:id", h)
		}),
		s.compose("the middleware on a route", "DELETE", "/users/7", "DELETE /users/:id", func(e E, app footfalltest.App, h H) {
			e.DELETE("/users/:id", h, s.Using(app)...)
		}),
		s.compose("a catch-all", "GET", "/files/a/b.css", "GET /files/*", s.with(func(e E, h H) { e.GET("/files/*", h) })),
		s.compose("a route of any method", "PATCH", "/hooks", "PATCH /hooks", s.with(func(e E, h H) { s.Any(e, "/hooks", h) })),
		s.compose("a colon that is none of a wildcard", "POST", "/users:batch", `POST /users\:batch`, s.with(func(e E, h H) {
			e.POST(`/users\:batch`, h)
		})),
		s.compose("a wildcard that begins within a segment", "GET", "/reports/year_2026", "GET /reports/year_:year", s.with(func(e E, h H) {
			e.GET("/reports/year_:year", h)
		})),
		s.compose("an escaped path", "GET", "/tags/a%2Fb", "GET /tags/:tag", s.with(func(e E, h H) { e.GET("/tags/:tag", h) })),
		s.compose("the middleware in Pre", "GET", "/users/7", "GET /users/:id", func(e E, app footfalltest.App, h H) {
			e.Pre(s.Using(app)...)
			e.GET("/users/:id", h)
		}),
		s.compose("a Pre middleware that rewrites the path, before", "GET", "/people/7", "GET /users/:id", func(e E, app footfalltest.App, h H) {
			e.Pre(s.rewrite())
			s.User(e, app, h)
		}),
		s.compose("a Pre middleware that rewrites the path, behind", "GET", "/people/7", "GET /users/:id", func(e E, app footfalltest.App, h H) {
			e.Pre(append(s.Using(app), s.rewrite())...)
			e.GET("/users/:id", h)
		}),
		s.compose("a Pre middleware that cuts a slash off", "GET", "/users/7/", "GET /users/:id", func(e E, app footfalltest.App, h H) {
			e.Pre(s.RemoveTrailingSlash())
			s.User(e, app, h)
		}),
	}
}

// nestedEchos returns compositions with an Echo as a handler of net/http, and with handlers
// of net/http in an Echo.
func (s Subject[C, H, M, R, G, E]) nestedEchos() []footfalltest.Nested {
	user := func(name, path string) footfalltest.Nested {
		return s.compose(name, "GET", path, "GET /users/:id", s.User)
	}
	return []footfalltest.Nested{
		s.compose("a middleware of net/http above that copies the request", "GET", "/users/7", "GET /users/:id", func(e E, app footfalltest.App, h H) {
			e.Use(s.WrapMiddleware(copying))
			s.User(e, app, h)
		}),
		s.compose("a middleware of net/http below that copies the request", "GET", "/users/7", "GET /users/:id", func(e E, app footfalltest.App, h H) {
			e.Use(append(s.Using(app), s.WrapMiddleware(copying))...)
			e.GET("/users/:id", h)
		}),
		s.compose("an Echo mounted in an Echo, with the middleware inside", "GET", "/api/users/7", "GET /api/users/:id", func(e E, app footfalltest.App, h H) {
			inner := s.New()
			inner.Use(s.Using(app)...)
			inner.GET("/api/users/:id", h)
			s.Any(e, "/api/*", s.WrapHandler(inner))
		}),
		s.compose("an Echo mounted in an Echo, with the middleware outside", "GET", "/api/users/7", "GET /api/*", func(e E, app footfalltest.App, h H) {
			inner := s.New()
			inner.GET("/api/users/:id", h)
			e.Use(s.Using(app)...)
			s.Any(e, "/api/*", s.WrapHandler(inner))
		}),
		adaptertest.BelowStripPrefix(user("an Echo below StripPrefix, whose routes have no prefix", "/api/users/7")),
		adaptertest.OfAHost(user("an Echo for a host of a mux", "/users/7")),
	}
}

// Measure returns requests through a bare Echo, and through one with a rule for
// POST /checkout/:id, its event and the context value.
func (s Subject[C, H, M, R, G, E]) Measure(tb testing.TB, pathProps ...string) (bare, wrapped func()) {
	serving := func(middleware ...M) func() {
		e := s.New()
		e.Use(middleware...)
		e.POST("/checkout/:id", s.nothing)
		return adaptertest.Requests(e, "POST", "/checkout/7")
	}
	return serving(), serving(s.Middleware(adaptertest.Tracker(tb), footfall.Rule{
		Route: "POST /checkout/:id", Event: "checkout_completed", Status: footfall.Success, PathProps: pathProps,
	}))
}
