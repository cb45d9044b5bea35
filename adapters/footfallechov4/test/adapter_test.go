package footfallechov4_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/adaptertest"
	"github.com/footfall-dev/footfall/adapters/adaptertest/echotest"
	"github.com/footfall-dev/footfall/adapters/footfallechov4"
	"github.com/footfall-dev/footfall/footfalltest"
)

func nothing(echo.Context) error { return nil }

var subject = echotest.Subject[echo.Context, echo.HandlerFunc, echo.MiddlewareFunc, *echo.Route, *echo.Group, *echo.Echo]{
	Middleware: footfallechov4.Middleware,
	Track:      footfallechov4.Track,
	CheckRules: footfallechov4.CheckRules,

	New: func() *echo.Echo {
		e := echo.New()
		e.Logger.SetOutput(io.Discard)
		return e
	},
	Any:    func(e *echo.Echo, path string, h echo.HandlerFunc) { e.Any(path, h) },
	Static: func(e *echo.Echo, prefix, folder string) { e.Static(prefix, folder) },
	Error: func(status int, cause error) error {
		return &echo.HTTPError{Code: status, Message: "it fails", Internal: cause}
	},
	OnError: func(e *echo.Echo, answer func(echo.Context, error)) {
		e.HTTPErrorHandler = func(err error, c echo.Context) { answer(c, err) }
	},
	Writer:         func(c echo.Context) http.ResponseWriter { return c.Response().Writer },
	WrapHandler:    echo.WrapHandler,
	WrapMiddleware: echo.WrapMiddleware,

	Recover: middleware.Recover, Gzip: middleware.Gzip, MethodOverride: middleware.MethodOverride,
	RemoveTrailingSlash: middleware.RemoveTrailingSlash, Rewrite: middleware.Rewrite,
	Refuse: func() echo.MiddlewareFunc {
		return middleware.BasicAuth(func(string, string, echo.Context) (bool, error) { return false, nil })
	},
	Logger: func() echo.MiddlewareFunc { // as middleware.RequestLogger with HandleError, which echo v4.8 does not have
		return func(next echo.HandlerFunc) echo.HandlerFunc {
			return func(c echo.Context) error {
				err := next(c)
				if err != nil {
					c.Error(err)
				}
				return err
			}
		}
	},

	Register: func(e *echo.Echo) { e.Host("shop.example.com").Group("/carts").GET("/:id", nothing) },
	Checks: []adaptertest.Check{
		{Name: "a route of a host", Rule: footfall.Rule{Route: "GET shop.example.com/carts/:id"}},
		{Name: "a route of a host, for any host", Rule: footfall.Rule{Route: "GET /carts/:id"}},
		{Name: "a route of another host", Rule: footfall.Rule{Route: "GET example.com/carts/:id"}, Says: "not registered"},
	},
	Missing: []echotest.Missing[*echo.Echo, echo.MiddlewareFunc]{
		{Name: "of a host", Want: []string{"get_no_route", "post_no_route"}, Build: func(e *echo.Echo, m echo.MiddlewareFunc) {
			e.Use(m)
			e.GET("/api/known", nothing)
			e.Host("example.com").GET("/api/known", nothing)
			e.GET("/api/secret", nothing)
		}},
	},
}

func init() {
	subject.Nested = hosts() // which are made of the subject
	e := echo.New()
	e.Group("/api", middleware.Recover())
	subject.GroupHasRoute = slices.ContainsFunc(e.Routes(), func(r *echo.Route) bool { return r.Method == http.MethodGet })
}

const ofHost = "GET shop.example.com/cart/:id"

func hosts() []footfalltest.Nested {
	host := func(e *echo.Echo, app footfalltest.App, h echo.HandlerFunc) {
		e.Use(subject.Using(app)...)
		e.GET("/cart/:other", h)
		e.Host("shop.example.com").Group("/cart").GET("/:id", h)
	}
	onHost := func(name, route string, compose func(e *echo.Echo, of footfalltest.App, h echo.HandlerFunc)) footfalltest.Nested {
		n := subject.Compose(name, "GET", "/cart/7", route, compose)
		n.Host = "shop.example.com"
		return n
	}
	return []footfalltest.Nested{
		onHost("a group of a host", ofHost, host),
		onHost("a group of a host, in a rule for any host", "GET /cart/:id", host),
		onHost("a group of a host, with the middleware in Pre", ofHost, func(e *echo.Echo, app footfalltest.App, h echo.HandlerFunc) {
			e.Pre(subject.Using(app)...)
			e.Host("shop.example.com").GET("/cart/:id", h)
		}),
		onHost("the middleware on a host", ofHost, func(e *echo.Echo, app footfalltest.App, h echo.HandlerFunc) {
			e.Host("shop.example.com", subject.Using(app)...).GET("/cart/:id", h)
		}),
		subject.Compose("no group of a host", "GET", "/cart/7", "GET /cart/:id", func(e *echo.Echo, app footfalltest.App, h echo.HandlerFunc) {
			e.Use(subject.Using(app)...)
			e.Host("shop.example.com").POST("/cart/:id", h)
			e.GET("/cart/:id", h)
		}),
	}
}

// Not parallel: the row about uploads sets an environment variable.
func TestAdapterPassesTheMiddlewareSuite(t *testing.T) { adaptertest.Conform(t, subject.Adapter()) }

func TestAdapterPassesTheEchoSuite(t *testing.T) {
	t.Parallel()
	subject.Run(t)
}

func TestARequestCostsAtMostFiveAllocations(t *testing.T) {
	subject.Adapter().AllocatesAtMost(t, 5)
	subject.Adapter().AllocatesAtMost(t, 5, "id")
}

func BenchmarkEchoV4(b *testing.B) { subject.Adapter().Benchmark(b) }

// Echo 4 routes the original request, even if a Pre middleware has replaced it.
func TestOnlyTheAdaptersTrackWorksBeforeRouting(t *testing.T) {
	t.Parallel()
	for name, register := range map[string]func(*echo.Echo, ...echo.MiddlewareFunc){"in Pre": (*echo.Echo).Pre, "where no route matches": (*echo.Echo).Use} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tracker := footfalltest.New(t)
			e := echo.New()
			var came *http.Request
			track := func(c echo.Context) error {
				assert.Same(t, came, c.Request())
				assert.NoError(t, footfallechov4.Track(c, "by echo's context"))
				assert.ErrorIs(t, footfall.Track(c.Request().Context(), "by the request's"), footfall.ErrNoTracker)
				assert.Error(t, footfallechov4.Track(c, ""), "an event without a name")
				ctx := footfall.WithTracker(c.Request().Context(), nil)
				c.SetRequest(c.Request().WithContext(ctx))
				assert.NoError(t, footfallechov4.Track(c, "for another tracker"))
				return nil
			}
			register(e, footfallechov4.Middleware(tracker.Tracker, footfall.Rule{Route: "GET /known", Event: "seen"}), func(echo.HandlerFunc) echo.HandlerFunc { return track })
			came = httptest.NewRequest("GET", "/nowhere?ref=x", nil)
			e.ServeHTTP(httptest.NewRecorder(), came)
			require.Equal(t, []string{"by echo's context"}, tracker.Names())
			assert.Equal(t, "http://example.com/nowhere?ref=x", tracker.Events()[0].URL)
		})
	}
}
