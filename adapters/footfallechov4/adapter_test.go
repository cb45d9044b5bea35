package footfallechov4_test

import (
	"net/http"
	"testing"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/adaptertest"
	"github.com/footfall-dev/footfall/adapters/footfallechov4"
	"github.com/footfall-dev/footfall/footfalltest"
)

// use returns app's middleware, as arguments for Use; none if app has no tracker.
func use(app footfalltest.App) []echo.MiddlewareFunc {
	if app.Tracker == nil {
		return nil
	}
	return []echo.MiddlewareFunc{footfallechov4.Middleware(app.Tracker, app.Rules...)}
}

// echoOf serves the routes of app.
func echoOf(app footfalltest.App) *echo.Echo {
	e := echo.New()
	e.Use(use(app)...)
	for _, r := range app.Routes {
		handler := func(echo.Context) error { return echo.NewHTTPError(r.Fail, "it fails") }
		if r.Fail == 0 {
			handler = echo.WrapHandler(r.Handler)
		}
		e.Add(r.Method, adaptertest.Replace(":")(r.Pattern), handler)
	}
	return e
}

// composed is a way to compose routers: compose registers the handler.
func composed(name, method, path, route string, compose func(e *echo.Echo, app footfalltest.App, h echo.HandlerFunc)) footfalltest.Nested {
	return footfalltest.Nested{
		Name: name, Method: method, Path: path, Route: route,
		Handler: func(_ testing.TB, app footfalltest.App) http.Handler {
			e := echo.New()
			compose(e, app, echo.WrapHandler(app.Routes[0].Handler))
			return e
		},
	}
}

// inside puts handlers of net/http around the Echo of a composition.
func inside(n footfalltest.Nested, outer func(http.Handler) http.Handler) footfalltest.Nested {
	inner := n.Handler
	n.Handler = func(tb testing.TB, app footfalltest.App) http.Handler { return outer(inner(tb, app)) }
	return n
}

func onHost(n footfalltest.Nested) footfalltest.Nested {
	n.Host = "shop.example.com"
	return n
}

func mux(pattern string, h http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle(pattern, h)
	return mux
}

func plainUser(e *echo.Echo, app footfalltest.App, h echo.HandlerFunc) {
	e.Use(use(app)...)
	e.GET("/users/:id", h)
}

func host(e *echo.Echo, app footfalltest.App, h echo.HandlerFunc) {
	e.Use(use(app)...)
	e.GET("/cart/:other", h)
	e.Host("shop.example.com").Group("/cart").GET("/:id", h)
}

var rewrite = middleware.Rewrite(map[string]string{"/people/*": "/users/$1"})

// copying is a middleware of net/http that copies the request and wraps the writer.
var copying = echo.WrapMiddleware(func(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(struct{ http.ResponseWriter }{w}, r.WithContext(r.Context()))
	})
})

var nested = []footfalltest.Nested{
	composed("groups in groups", "GET", "/api/v1/users/7", "GET /api/v1/users/:id", func(e *echo.Echo, app footfalltest.App, h echo.HandlerFunc) {
		e.Use(use(app)...)
		e.Group("/api").Group("/v1").GET("/users/:id", h)
	}),
	composed("a group with a wildcard", "POST", "/shops/3/carts/9", "POST /shops/:shop/carts/:cart", func(e *echo.Echo, app footfalltest.App, h echo.HandlerFunc) {
		e.Use(use(app)...)
		e.Group("/shops/:shop").POST("/carts/:cart", h)
	}),
	composed("the middleware on a group", "GET", "/api/users/7", "GET /api/users/:id", func(e *echo.Echo, app footfalltest.App, h echo.HandlerFunc) {
		e.Group("/api", use(app)...).GET("/users/:id", h)
	}),
	composed("the middleware on a route", "DELETE", "/users/7", "DELETE /users/:id", func(e *echo.Echo, app footfalltest.App, h echo.HandlerFunc) {
		e.DELETE("/users/:id", h, use(app)...)
	}),
	composed("a catch-all", "GET", "/files/a/b.css", "GET /files/*", func(e *echo.Echo, app footfalltest.App, h echo.HandlerFunc) {
		e.Use(use(app)...)
		e.GET("/files/*", h)
	}),
	composed("a route of any method", "PATCH", "/hooks", "PATCH /hooks", func(e *echo.Echo, app footfalltest.App, h echo.HandlerFunc) {
		e.Use(use(app)...)
		e.Any("/hooks", h)
	}),
	composed("a colon that is none of a wildcard", "POST", "/users:batch", `POST /users\:batch`, func(e *echo.Echo, app footfalltest.App, h echo.HandlerFunc) {
		e.Use(use(app)...)
		e.POST(`/users\:batch`, h)
	}),
	composed("a wildcard that begins within a segment", "GET", "/reports/year_2026", "GET /reports/year_:year", func(e *echo.Echo, app footfalltest.App, h echo.HandlerFunc) {
		e.Use(use(app)...)
		e.GET("/reports/year_:year", h)
	}),
	composed("an escaped path", "GET", "/tags/a%2Fb", "GET /tags/:tag", func(e *echo.Echo, app footfalltest.App, h echo.HandlerFunc) {
		e.Use(use(app)...)
		e.GET("/tags/:tag", h)
	}),
	composed("the middleware in Pre", "GET", "/users/7", "GET /users/:id", func(e *echo.Echo, app footfalltest.App, h echo.HandlerFunc) {
		e.Pre(use(app)...)
		e.GET("/users/:id", h)
	}),
	composed("a Pre middleware that rewrites the path, before", "GET", "/people/7", "GET /users/:id", func(e *echo.Echo, app footfalltest.App, h echo.HandlerFunc) {
		e.Pre(rewrite)
		plainUser(e, app, h)
	}),
	composed("a Pre middleware that rewrites the path, behind", "GET", "/people/7", "GET /users/:id", func(e *echo.Echo, app footfalltest.App, h echo.HandlerFunc) {
		e.Pre(append(use(app), rewrite)...)
		e.GET("/users/:id", h)
	}),
	composed("a Pre middleware that cuts a slash off", "GET", "/users/7/", "GET /users/:id", func(e *echo.Echo, app footfalltest.App, h echo.HandlerFunc) {
		e.Pre(middleware.RemoveTrailingSlash())
		plainUser(e, app, h)
	}),
	composed("a middleware of net/http above that copies the request", "GET", "/users/7", "GET /users/:id", func(e *echo.Echo, app footfalltest.App, h echo.HandlerFunc) {
		e.Use(copying)
		plainUser(e, app, h)
	}),
	composed("a middleware of net/http below that copies the request", "GET", "/users/7", "GET /users/:id", func(e *echo.Echo, app footfalltest.App, h echo.HandlerFunc) {
		e.Use(append(use(app), copying)...)
		e.GET("/users/:id", h)
	}),
	composed("an Echo mounted in an Echo, with the middleware inside", "GET", "/api/users/7", "GET /api/users/:id", func(e *echo.Echo, app footfalltest.App, h echo.HandlerFunc) {
		inner := echo.New()
		inner.Use(use(app)...)
		inner.GET("/api/users/:id", h)
		e.Any("/api/*", echo.WrapHandler(inner))
	}),
	composed("an Echo mounted in an Echo, with the middleware outside", "GET", "/api/users/7", "GET /api/*", func(e *echo.Echo, app footfalltest.App, h echo.HandlerFunc) {
		inner := echo.New()
		inner.GET("/api/users/:id", h)
		e.Use(use(app)...)
		e.Any("/api/*", echo.WrapHandler(inner))
	}),
	inside(composed("an Echo below StripPrefix, whose routes have no prefix", "GET", "/api/users/7", "GET /users/:id", plainUser),
		func(e http.Handler) http.Handler { return mux("/api/", http.StripPrefix("/api", e)) }),
	onHost(inside(composed("an Echo for a host of a mux", "GET", "/users/7", "GET /users/:id", plainUser),
		func(e http.Handler) http.Handler { return mux("shop.example.com/", e) })),
	onHost(composed("a group of a host", "GET", "/cart/7", "GET shop.example.com/cart/:id", host)),
	onHost(composed("a group of a host, in a rule for any host", "GET", "/cart/7", "GET /cart/:id", host)),
	onHost(composed("a group of a host, with the middleware in Pre", "GET", "/cart/7", "GET shop.example.com/cart/:id", func(e *echo.Echo, app footfalltest.App, h echo.HandlerFunc) {
		e.Pre(use(app)...)
		e.Host("shop.example.com").GET("/cart/:id", h)
	})),
	onHost(composed("the middleware on a host", "GET", "/cart/7", "GET shop.example.com/cart/:id", func(e *echo.Echo, app footfalltest.App, h echo.HandlerFunc) {
		e.Host("shop.example.com", use(app)...).GET("/cart/:id", h)
	})),
	composed("no group of a host", "GET", "/cart/7", "GET /cart/:id", func(e *echo.Echo, app footfalltest.App, h echo.HandlerFunc) {
		e.Use(use(app)...)
		e.Host("shop.example.com").POST("/cart/:id", h)
		e.GET("/cart/:id", h)
	}),
}

// Not parallel: the row about uploads sets an environment variable.
func TestTheAdapterKeepsWhatIsAskedOfMiddlewares(t *testing.T) {
	adaptertest.Run(t, footfalltest.Subject{
		Handler: func(_ testing.TB, app footfalltest.App) http.Handler { return echoOf(app) },
		Pattern: adaptertest.Replace(":"),
		Nested:  nested,
		Impossible: map[string]string{
			"103 and then 404 is recorded as 404": "echo.Response takes the first WriteHeader for the answer, also that of an informational status, and ignores the next: the client gets 103 and then an empty 200",
		},
	})
}

const measured = "POST /checkout/:id"

// measure returns requests through a bare Echo, and through one with a rule, its event
// and the context value.
func measure(tb testing.TB, rule footfall.Rule) (bare, wrapped func()) {
	serving := func(middleware ...echo.MiddlewareFunc) http.Handler {
		e := echo.New()
		e.Use(middleware...)
		e.POST("/checkout/:id", func(echo.Context) error { return nil })
		return e
	}
	bare = adaptertest.Requests(serving(), "POST", "/checkout/7")
	return bare, adaptertest.Requests(serving(footfallechov4.Middleware(adaptertest.Tracker(tb), rule)), "POST", "/checkout/7")
}

func TestARequestCostsAtMostFiveAllocations(t *testing.T) {
	bare, wrapped := measure(t, footfall.Rule{Route: measured, Event: "checkout_completed", Status: footfall.Success})
	adaptertest.Allocations(t, bare, wrapped, 5)
}

func BenchmarkEchoV4(b *testing.B) {
	bare, wrapped := measure(b, footfall.Rule{Route: measured, Event: "checkout_completed", Status: footfall.Success})
	adaptertest.Benchmark(b, bare, wrapped)
}
