package footfallecho_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/labstack/echo/v5"
	"github.com/labstack/echo/v5/middleware"
	"github.com/stretchr/testify/assert"

	"github.com/footfall-dev/footfall/adapters/adaptertest"
	"github.com/footfall-dev/footfall/adapters/adaptertest/echotest"
	"github.com/footfall-dev/footfall/adapters/footfallecho"
	"github.com/footfall-dev/footfall/footfalltest"
)

var subject = echotest.Subject[*echo.Context, echo.HandlerFunc, echo.MiddlewareFunc, echo.RouteInfo, *echo.Group, *echo.Echo]{
	Middleware: footfallecho.Middleware,
	Track:      footfallecho.Track,
	CheckRules: footfallecho.CheckRules,

	New: func() *echo.Echo {
		e := echo.New()
		e.Logger = slog.New(slog.DiscardHandler)
		return e
	},
	Any:    func(e *echo.Echo, path string, h echo.HandlerFunc) { e.Any(path, h) },
	Static: func(e *echo.Echo, prefix, folder string) { e.Static(prefix, folder) },
	Error:  func(status int, cause error) error { return echo.NewHTTPError(status, "it fails").Wrap(cause) },
	OnError: func(e *echo.Echo, answer func(*echo.Context, error)) {
		e.HTTPErrorHandler = answer
	},
	Writer: func(c *echo.Context) http.ResponseWriter {
		response, err := echo.UnwrapResponse(c.Response())
		if err != nil {
			return nil
		}
		return response.ResponseWriter
	},
	WrapHandler:    echo.WrapHandler,
	WrapMiddleware: echo.WrapMiddleware,

	Recover: middleware.Recover, Gzip: middleware.Gzip, MethodOverride: middleware.MethodOverride,
	RemoveTrailingSlash: middleware.RemoveTrailingSlash, Rewrite: middleware.Rewrite,
	Refuse: func() echo.MiddlewareFunc {
		return middleware.BasicAuth(func(*echo.Context, string, string) (bool, error) { return false, nil })
	},
	Logger: func() echo.MiddlewareFunc {
		return middleware.RequestLoggerWithConfig(middleware.RequestLoggerConfig{
			HandleError: true, LogValuesFunc: func(*echo.Context, middleware.RequestLoggerValues) error { return nil },
		})
	},
}

func init() { // with what is made of the subject
	virtual := subject.Compose("a virtual host", "GET", "/users/7", "GET /users/:id", func(e *echo.Echo, of footfalltest.App, h echo.HandlerFunc) {
		e.Use(subject.Using(of)...)
		e.GET("/users/:id", h)
	})
	inner := virtual.Handler
	virtual.Host, virtual.Handler = "shop.example.com", func(tb testing.TB, of footfalltest.App) http.Handler {
		return echo.NewVirtualHostHandler(map[string]*echo.Echo{"shop.example.com": inner(tb, of).(*echo.Echo)})
	}
	subject.Nested = []footfalltest.Nested{virtual}
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

func BenchmarkEcho(b *testing.B) { subject.Adapter().Benchmark(b) }

// In echo 5 a writer may hide echo's Response. The status that echo would answer with is
// recorded then.
func TestWriterMayHideTheResponse(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	e := echo.New()
	e.Use(func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c *echo.Context) error {
			c.SetResponse(struct{ http.ResponseWriter }{c.Response()})
			return next(c)
		}
	}, footfallecho.Middleware(tracker.Tracker, adaptertest.Classes("GET /:way")...))
	e.GET("/:way", func(c *echo.Context) error {
		if c.Param("way") == "fails" {
			return echo.ErrServiceUnavailable
		}
		return nil
	})
	for path, want := range map[string]int{"/fails": http.StatusServiceUnavailable, "/works": http.StatusOK} {
		w := httptest.NewRecorder()
		e.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		assert.Equal(t, want, w.Code, path)
	}
	assert.ElementsMatch(t, []string{"server error", "success"}, tracker.Names())
}

// echo.WrapHandler sets them, so that handlers of net/http around the Echo see them.
func TestPathValuesOfNetHTTPReachTheOriginalRequest(t *testing.T) {
	t.Parallel()
	e := echo.New()
	e.Use(footfallecho.Middleware(footfalltest.New(t).Tracker))
	e.GET("/shops/:shop/carts/:cart", echo.WrapHandler(http.NotFoundHandler()))
	came := httptest.NewRequest("GET", "/shops/3/carts/x9", nil)
	e.ServeHTTP(httptest.NewRecorder(), came)
	assert.Equal(t, "3", came.PathValue("shop"))
	assert.Equal(t, "x9", came.PathValue("cart"))
	assert.Equal(t, "/shops/:shop/carts/:cart", came.Pattern)
}
