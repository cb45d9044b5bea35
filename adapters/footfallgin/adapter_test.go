package footfallgin_test

import (
	"errors"
	"net/http"
	"os"
	"testing"

	"github.com/gin-gonic/gin"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/adaptertest"
	"github.com/footfall-dev/footfall/adapters/footfallgin"
	"github.com/footfall-dev/footfall/footfalltest"
)

func TestMain(m *testing.M) {
	gin.SetMode(gin.TestMode) // for the whole process
	os.Exit(m.Run())
}

// use returns app's middleware, as arguments for Use; none if app has no tracker.
func use(app footfalltest.App) []gin.HandlerFunc {
	if app.Tracker == nil {
		return nil
	}
	return []gin.HandlerFunc{footfallgin.Middleware(app.Tracker, app.Rules...)}
}

// engineOf serves the routes of app.
func engineOf(app footfalltest.App) *gin.Engine {
	engine := gin.New()
	engine.Use(use(app)...)
	for _, r := range app.Routes {
		handler := func(c *gin.Context) { _ = c.AbortWithError(r.Fail, errors.New("it fails")) }
		if r.Fail == 0 {
			handler = gin.WrapH(r.Handler)
		}
		track := func(c *gin.Context) {
			if r.Event != "" {
				_ = footfallgin.Track(c, r.Event) // the row misses the event
			}
		}
		engine.Handle(r.Method, adaptertest.Replace(":", "*rest")(r.Pattern), track, handler)
	}
	return engine
}

// composed is a way to compose routers: compose registers the handler.
func composed(name, method, path, route string, compose func(engine *gin.Engine, app footfalltest.App, h gin.HandlerFunc)) footfalltest.Nested {
	return adaptertest.Nested(name, method, path, route, func(app footfalltest.App) http.Handler {
		engine := gin.New()
		compose(engine, app, gin.WrapH(app.Routes[0].Handler))
		return engine
	})
}

var nested = []footfalltest.Nested{
	composed("groups in groups", "GET", "/api/v1/users/7", "GET /api/v1/users/:id", func(engine *gin.Engine, app footfalltest.App, h gin.HandlerFunc) {
		engine.Use(use(app)...)
		engine.Group("/api").Group("/v1").GET("/users/:id", h)
	}),
	composed("a group with a wildcard", "POST", "/shops/3/carts/9", "POST /shops/:shop/carts/:cart", func(engine *gin.Engine, app footfalltest.App, h gin.HandlerFunc) {
		engine.Use(use(app)...)
		engine.Group("/shops/:shop").POST("/carts/:cart", h)
	}),
	composed("the middleware on a group", "GET", "/api/users/7", "GET /api/users/:id", func(engine *gin.Engine, app footfalltest.App, h gin.HandlerFunc) {
		engine.Group("/api", use(app)...).GET("/users/:id", h)
	}),
	composed("the middleware on a route", "DELETE", "/users/7", "DELETE /users/:id", func(engine *gin.Engine, app footfalltest.App, h gin.HandlerFunc) {
		engine.DELETE("/users/:id", append(use(app), h)...)
	}),
	composed("a catch-all", "GET", "/files/a/b.css", "GET /files/*path", func(engine *gin.Engine, app footfalltest.App, h gin.HandlerFunc) {
		engine.Use(use(app)...)
		engine.GET("/files/*path", h)
	}),
	composed("a route of any method", "PATCH", "/hooks", "PATCH /hooks", func(engine *gin.Engine, app footfalltest.App, h gin.HandlerFunc) {
		engine.Use(use(app)...)
		engine.Any("/hooks", h)
	}),
	composed("a wildcard that begins within a segment", "GET", "/reports/year_2026", "GET /reports/year_:year", func(engine *gin.Engine, app footfalltest.App, h gin.HandlerFunc) {
		engine.Use(use(app)...)
		engine.GET("/reports/year_:year", h)
	}),
	composed("an escaped path", "GET", "/tags/a%2Fb", "GET /tags/:tag", func(engine *gin.Engine, app footfalltest.App, h gin.HandlerFunc) {
		engine.UseRawPath = true
		engine.Use(use(app)...)
		engine.GET("/tags/:tag", h)
	}),
	composed("an engine mounted in an engine, with the middleware inside", "GET", "/api/users/7", "GET /api/users/:id", func(engine *gin.Engine, app footfalltest.App, h gin.HandlerFunc) {
		inner := gin.New()
		inner.Use(use(app)...)
		inner.GET("/api/users/:id", h)
		engine.Any("/api/*rest", gin.WrapH(inner))
	}),
	composed("an engine mounted in an engine, with the middleware outside", "GET", "/api/users/7", "GET /api/*rest", func(engine *gin.Engine, app footfalltest.App, h gin.HandlerFunc) {
		inner := gin.New()
		inner.GET("/api/users/:id", h)
		engine.Use(use(app)...)
		engine.Any("/api/*rest", gin.WrapH(inner))
	}),
	adaptertest.BelowStripPrefix(composed("an engine below StripPrefix, whose routes have no prefix", "GET", "/api/users/7", "GET /users/:id", plainUser)),
	adaptertest.OfAHost(composed("an engine for a host of a mux", "GET", "/users/7", "GET /users/:id", plainUser)),
}

func init() {
	if !colonsAreEscaped() {
		return
	}
	nested = append(nested, composed("a colon that is none of a wildcard", "POST", "/users:batch", "POST /users:batch", func(engine *gin.Engine, app footfalltest.App, h gin.HandlerFunc) {
		engine.Use(use(app)...)
		engine.POST(`/users\:batch`, h)
	}))
}

// colonsAreEscaped reports whether this version of gin takes \: for a colon, also below a
// handler of net/http.
func colonsAreEscaped() bool {
	gin.SetMode(gin.TestMode)
	engine := gin.New()
	engine.POST(`/users\:batch`, func(*gin.Context) {})
	return ask(engine, "POST", "/users:batch").Code == http.StatusOK
}

func plainUser(engine *gin.Engine, app footfalltest.App, h gin.HandlerFunc) {
	engine.Use(use(app)...)
	engine.GET("/users/:id", h)
}

// Not parallel: the row about uploads sets an environment variable.
func TestAdapterPassesTheMiddlewareSuite(t *testing.T) {
	adaptertest.Run(t, footfalltest.Subject{
		Handler: func(_ testing.TB, app footfalltest.App) http.Handler { return engineOf(app) },
		Pattern: adaptertest.Replace(":", "*rest"), Tracks: true,
		Nested: nested,
		Impossible: map[string]string{
			"103 and then 404 is recorded as 404": "through gin's writer, which sends no informational answer: it keeps the last status of WriteHeader until the answer begins",
		},
	})
}

const measured = "POST /checkout/:id"

// measure returns requests through a bare engine, and through one with a rule, its
// event and the context value.
func measure(tb testing.TB, rule footfall.Rule) (bare, wrapped func()) {
	engine := func(middleware ...gin.HandlerFunc) http.Handler {
		engine := gin.New()
		engine.Use(middleware...)
		engine.POST("/checkout/:id", func(*gin.Context) {})
		return engine
	}
	bare = adaptertest.Requests(engine(), "POST", "/checkout/7")
	return bare, adaptertest.Requests(engine(footfallgin.Middleware(adaptertest.Tracker(tb), rule)), "POST", "/checkout/7")
}

func TestARequestCostsAtMostFiveAllocations(t *testing.T) {
	rule := footfall.Rule{Route: measured, Event: "checkout_completed", Status: footfall.Success}
	bare, wrapped := measure(t, rule)
	adaptertest.Allocations(t, bare, wrapped, 5)
	rule.PathProps = []string{"id"}
	bare, wrapped = measure(t, rule)
	adaptertest.Allocations(t, bare, wrapped, 5)
}

func BenchmarkGin(b *testing.B) {
	bare, wrapped := measure(b, footfall.Rule{Route: measured, Event: "checkout_completed", Status: footfall.Success})
	adaptertest.Benchmark(b, bare, wrapped)
}
