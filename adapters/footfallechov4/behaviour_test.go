package footfallechov4_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"sync"
	"testing"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/footfallechov4"
	"github.com/footfall-dev/footfall/footfalltest"
)

// ask sends one request to the Echo and returns the answer.
func ask(e http.Handler, method, target string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	e.ServeHTTP(w, httptest.NewRequest(method, target, nil))
	return w
}

// classes are rules, one for each class of status, whose events are named after it.
func classes(route string) []footfall.Rule {
	return []footfall.Rule{
		{Route: route, Event: "success", Status: footfall.Success},
		{Route: route, Event: "client error", Status: footfall.ClientError},
		{Route: route, Event: "server error", Status: footfall.ServerError},
		{Route: route, Event: "aborted", Status: footfall.Aborted},
	}
}

func nothing(echo.Context) error { return nil }

var errBoom = errors.New("boom")

func TestAnErrorIsRecordedAsItIsAnswered(t *testing.T) {
	t.Parallel()
	fails := func(echo.Context) error { return errBoom }
	tests := []struct {
		name    string
		above   echo.MiddlewareFunc   // a middleware above
		answers echo.HTTPErrorHandler // nil for echo's own
		handler echo.HandlerFunc
		status  int // that the client sees
		want    []string
	}{
		{"by echo", nil, nil, fails, 500, []string{"server error"}},
		{"by echo, from an error with a status", nil, nil, func(echo.Context) error { return echo.ErrNotFound.WithInternal(errBoom) }, 404, []string{"client error"}},
		{"by the application's handler", nil, func(_ error, c echo.Context) { _ = c.String(http.StatusConflict, "no") }, fails, 409, []string{"client error"}},
		{"by the application's handler without a body", nil, func(_ error, c echo.Context) { _ = c.NoContent(http.StatusNoContent) }, fails, 204, []string{"success"}},
		{"by a middleware above", func(next echo.HandlerFunc) echo.HandlerFunc {
			return func(c echo.Context) error {
				if next(c) != nil {
					return c.Redirect(http.StatusSeeOther, "/login")
				}
				return nil
			}
		}, nil, fails, 303, []string{"success"}},
		{"by a middleware above that makes another error of it", func(next echo.HandlerFunc) echo.HandlerFunc {
			return func(c echo.Context) error {
				if err := next(c); err != nil {
					return echo.ErrTooManyRequests.WithInternal(err)
				}
				return nil
			}
		}, nil, fails, 429, []string{"client error"}},
		{"by a logger above, at once", middleware.RequestLoggerWithConfig(middleware.RequestLoggerConfig{
			HandleError: true, LogValuesFunc: func(echo.Context, middleware.RequestLoggerValues) error { return nil },
		}), nil, fails, 500, []string{"server error"}},
		{"by the handler already", nil, nil, func(c echo.Context) error { _ = c.String(http.StatusCreated, "done"); return errBoom }, 201, []string{"success"}},
		{"by nobody", nil, func(error, echo.Context) {}, fails, 200, []string{}},
		{"with a redirect to another spelling, which is no visit", nil, func(_ error, c echo.Context) { _ = c.Redirect(http.StatusFound, "/fails/") }, fails, 302, []string{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tracker := footfalltest.New(t)
			e := echo.New()
			if tt.answers != nil {
				e.HTTPErrorHandler = tt.answers
			}
			var seen error
			note := func(next echo.HandlerFunc) echo.HandlerFunc {
				return func(c echo.Context) error { seen = next(c); return seen }
			}
			if tt.above != nil {
				e.Use(tt.above)
			}
			e.Use(note, footfallechov4.Middleware(tracker.Tracker, classes("GET /fails")...))
			e.GET("/fails", tt.handler)

			assert.Equal(t, tt.status, ask(e, "GET", "/fails").Code)
			assert.ErrorIs(t, seen, errBoom, "what the middlewares above see")
			assert.Equal(t, tt.want, tracker.Names())
		})
	}
}

func TestTheErrorHandlerIsCalledOnceAndCanTrack(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	e := echo.New()
	calls := 0
	e.HTTPErrorHandler = func(err error, c echo.Context) {
		calls++
		assert.NoError(t, footfallechov4.Track(c, "failed", footfall.P("why", err.Error())))
		_ = c.String(http.StatusBadGateway, "no")
	}
	e.Use(footfallechov4.Middleware(tracker.Tracker, classes("GET /fails/:id")...))
	e.GET("/fails/:id", func(echo.Context) error { return errBoom })
	answer := ask(e, "GET", "/fails/7")
	assert.Equal(t, "no", answer.Body.String())
	assert.Equal(t, 1, calls)
	assert.Equal(t, []string{"failed", "server error"}, tracker.Names())
	assert.Equal(t, "http://example.com/fails/7", tracker.Events()[0].URL)
}

func TestRecoverMayStandOnEitherSide(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		panics any
		want   string
	}{
		{"a panic", errBoom, "server error"},
		{"http.ErrAbortHandler", http.ErrAbortHandler, "aborted"},
	} {
		for _, place := range []string{"above", "below"} {
			t.Run(tt.name+", with the middleware "+place, func(t *testing.T) {
				t.Parallel()
				tracker := footfalltest.New(t)
				e := echo.New()
				both := []echo.MiddlewareFunc{footfallechov4.Middleware(tracker.Tracker, classes("GET /panic")...), middleware.Recover()}
				if place == "below" {
					both[0], both[1] = both[1], both[0]
				}
				e.Use(both...)
				e.GET("/panic", func(echo.Context) error { panic(tt.panics) })
				if tt.panics == http.ErrAbortHandler {
					assert.PanicsWithValue(t, http.ErrAbortHandler, func() { ask(e, "GET", "/panic") })
				} else {
					assert.Equal(t, http.StatusInternalServerError, ask(e, "GET", "/panic").Code)
				}
				assert.Equal(t, []string{tt.want}, tracker.Names())
			})
		}
	}
}

func TestAHandlerThatEndsItsGoroutineIsAborted(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	e := echo.New()
	e.Use(footfallechov4.Middleware(tracker.Tracker, classes("GET /exit")...))
	e.GET("/exit", func(echo.Context) error { runtime.Goexit(); return nil })
	var ended sync.WaitGroup
	ended.Go(func() { ask(e, "GET", "/exit") })
	ended.Wait()
	assert.Equal(t, []string{"aborted"}, tracker.Names())
}

func TestWhatAMiddlewareBelowRefusesIsRecorded(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	e := echo.New()
	e.Use(footfallechov4.Middleware(tracker.Tracker, classes("GET /admin")...), middleware.BasicAuth(func(string, string, echo.Context) (bool, error) { return false, nil }))
	e.GET("/admin", nothing)
	assert.Equal(t, http.StatusUnauthorized, ask(e, "GET", "/admin").Code)
	assert.Equal(t, []string{"client error"}, tracker.Names())
}

// A WebSocket handler often ends with the error that ended the connection. Echo answers
// it into a connection that is no longer its own.
func TestAConnectionThatWasTakenOverIsASuccessWhateverTheHandlerReturns(t *testing.T) {
	t.Parallel()
	for name, returns := range map[string]error{"an error": errBoom, "no error": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tracker := footfalltest.New(t)
			e := echo.New()
			e.Logger.SetOutput(io.Discard)
			var returned sync.WaitGroup // the server does not wait for a handler whose connection is taken over
			returned.Add(1)
			e.Use(footfallechov4.Middleware(tracker.Tracker, classes("GET /ws")...))
			e.GET("/ws", func(c echo.Context) error {
				_, readsFrom := c.Response().Writer.(io.ReaderFrom)
				assert.True(t, readsFrom)
				conn, _, err := http.NewResponseController(c.Response()).Hijack()
				if !assert.NoError(t, err) {
					return err
				}
				_, err = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: none\r\nConnection: Upgrade\r\n\r\n")
				return errors.Join(returns, err, conn.Close())
			})
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				defer returned.Done()
				e.ServeHTTP(w, r)
			}))
			server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) // net/http notes what echo does
			server.Start()
			defer server.Close()
			r, err := http.NewRequest("GET", server.URL+"/ws", nil)
			require.NoError(t, err)
			r.Header.Set("Connection", "Upgrade")
			r.Header.Set("Upgrade", "none")
			answer, err := http.DefaultClient.Do(r)
			require.NoError(t, err)
			require.NoError(t, answer.Body.Close())
			assert.Equal(t, http.StatusSwitchingProtocols, answer.StatusCode)
			returned.Wait()
			assert.Equal(t, []string{"success"}, tracker.Names())
		})
	}
}

func TestAnUpgradeThatIsRefusedIsAnAnswerLikeAnother(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	e := echo.New()
	e.Use(footfallechov4.Middleware(tracker.Tracker, classes("GET /ws")...))
	e.GET("/ws", func(echo.Context) error { return echo.ErrForbidden })
	server := httptest.NewServer(e)
	r, err := http.NewRequest("GET", server.URL+"/ws", nil)
	require.NoError(t, err)
	r.Header.Set("Upgrade", "websocket")
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	server.Close()
	assert.Equal(t, http.StatusForbidden, answer.StatusCode)
	assert.Equal(t, []string{"client error"}, tracker.Names())
}

func TestWritersOfOtherMiddlewaresAreSeenThrough(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name         string
		above, below []echo.MiddlewareFunc
	}{
		{"compression above", []echo.MiddlewareFunc{middleware.Gzip()}, nil},
		{"compression below", nil, []echo.MiddlewareFunc{middleware.Gzip()}},
		{"a middleware of net/http above", []echo.MiddlewareFunc{copying}, nil},
		{"a middleware of net/http below", nil, []echo.MiddlewareFunc{copying}},
		{"both of both", []echo.MiddlewareFunc{middleware.Gzip(), copying}, []echo.MiddlewareFunc{copying, middleware.Gzip()}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tracker := footfalltest.New(t)
			e := echo.New()
			e.Use(tt.above...)
			e.Use(footfallechov4.Middleware(tracker.Tracker, classes("GET /:way")...))
			e.Use(tt.below...)
			e.GET("/:way", func(c echo.Context) error {
				if c.Param("way") == "fails" {
					return echo.ErrServiceUnavailable
				}
				return c.String(http.StatusNotFound, "no")
			})
			assert.Equal(t, http.StatusServiceUnavailable, ask(e, "GET", "/fails").Code)
			assert.Equal(t, http.StatusNotFound, ask(e, "GET", "/answers").Code)
			assert.Equal(t, []string{"server error", "client error"}, tracker.Names())
		})
	}
}

// As http.TimeoutHandler does when the time is up.
func TestAMiddlewareOfNetHTTPThatAnswersInPlaceOfTheHandlerIsBelieved(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	e := echo.New()
	e.Use(footfallechov4.Middleware(tracker.Tracker, classes("GET /:way")...), echo.WrapMiddleware(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			next.ServeHTTP(httptest.NewRecorder(), r)
			w.WriteHeader(http.StatusServiceUnavailable)
		})
	}))
	e.GET("/:way", func(c echo.Context) error {
		if c.Param("way") == "fails" {
			return echo.ErrForbidden
		}
		return c.String(http.StatusNotFound, "no")
	})
	assert.Equal(t, http.StatusServiceUnavailable, ask(e, "GET", "/answers").Code)
	assert.Equal(t, http.StatusServiceUnavailable, ask(e, "GET", "/fails").Code)
	assert.Equal(t, []string{"server error", "server error"}, tracker.Names())
}

func TestARedirectToAnotherSpellingIsNoVisit(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	e := echo.New()
	e.Use(footfallechov4.Middleware(tracker.Tracker, footfall.Rule{Route: footfall.AnyRoute}))
	e.GET("/docs", func(c echo.Context) error { return c.Redirect(http.StatusMovedPermanently, "/docs/") })
	e.GET("/docs/", nothing)
	e.GET("/old", func(c echo.Context) error { return c.Redirect(http.StatusFound, "/new") })
	for _, path := range []string{"/docs", "/docs/", "/old"} {
		ask(e, "GET", path)
	}
	assert.Equal(t, []string{"get_docs", "get_old"}, tracker.Names())
}

func TestRequestsThatNoRouteMatches(t *testing.T) {
	t.Parallel()
	rules := []footfall.Rule{{Route: footfall.AnyRoute}, {Route: footfall.NoRoute}}
	page := func(status int) echo.HandlerFunc {
		return func(c echo.Context) error { return c.String(status, "a page") }
	}
	// Each build has the route GET /api/known and is asked for GET /api/secret and POST /api/known.
	tests := []struct {
		name  string
		rules []footfall.Rule
		build func(e *echo.Echo, m echo.MiddlewareFunc)
		want  []string
	}{
		{"they are not asked for", rules[:1], onEcho, []string{}},
		{"they are asked for", rules, onEcho, []string{"get_no_route", "post_no_route"}},
		{"with the middleware in Pre", rules, func(e *echo.Echo, m echo.MiddlewareFunc) { e.Pre(m); e.GET("/api/known", nothing) }, []string{"get_no_route", "post_no_route"}},
		{"with the middleware on a group", rules, func(e *echo.Echo, m echo.MiddlewareFunc) { e.Group("/api", m).GET("/known", nothing) }, []string{"get_no_route", "post_no_route"}},
		{"below a group with a wildcard", rules, func(e *echo.Echo, m echo.MiddlewareFunc) { e.Group("/:api", m).GET("/known", nothing) }, []string{"get_no_route", "post_no_route"}},
		{"RouteNotFound answers 404", rules, func(e *echo.Echo, m echo.MiddlewareFunc) { onEcho(e, m); e.RouteNotFound("/*", page(404)) }, []string{"get_no_route", "post_no_route"}},
		{"RouteNotFound answers 200", rules, func(e *echo.Echo, m echo.MiddlewareFunc) { onEcho(e, m); e.RouteNotFound("/*", page(200)) }, []string{}},
		{"of a host", rules, func(e *echo.Echo, m echo.MiddlewareFunc) {
			onEcho(e, m)
			e.Host("example.com").GET("/api/known", nothing)
			e.GET("/api/secret", nothing)
		}, []string{"get_no_route", "post_no_route"}},
		{"a route at the path of RouteNotFound", rules, func(e *echo.Echo, m echo.MiddlewareFunc) {
			onEcho(e, m)
			e.RouteNotFound("/api/*", page(404))
			e.GET("/api/*", nothing)
		}, []string{"get_api", "post_no_route"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tracker := footfalltest.New(t)
			e := echo.New()
			tt.build(e, footfallechov4.Middleware(tracker.Tracker, tt.rules...))
			ask(e, "GET", "/api/secret")
			ask(e, "POST", "/api/known")
			ask(e, "OPTIONS", "/api/known")
			assert.Equal(t, tt.want, tracker.Names())
		})
	}
}

func onEcho(e *echo.Echo, m echo.MiddlewareFunc) {
	e.Use(m)
	e.GET("/api/known", nothing)
}

func TestPreMiddlewaresWorkOnTheSameRequestAsWithout(t *testing.T) {
	t.Parallel()
	rules := []footfall.Rule{{Route: "DELETE /users/:id", Event: "deleted", PathProps: []string{"id"}}, {Route: footfall.AnyRoute}}
	others := []echo.MiddlewareFunc{rewrite, middleware.MethodOverride()}
	for _, tt := range []struct {
		name  string
		build func(e *echo.Echo, m echo.MiddlewareFunc)
		url   string
	}{
		{"the middleware is the first", func(e *echo.Echo, m echo.MiddlewareFunc) { e.Pre(m); e.Pre(others...) }, "http://example.com/people/7"},
		{"the middleware is the last", func(e *echo.Echo, m echo.MiddlewareFunc) { e.Pre(others...); e.Pre(m) }, "http://example.com/users/7"},
		{"the middleware is not in Pre", func(e *echo.Echo, m echo.MiddlewareFunc) { e.Pre(others...); e.Use(m) }, "http://example.com/users/7"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tracker := footfalltest.New(t)
			e := echo.New()
			tt.build(e, footfallechov4.Middleware(tracker.Tracker, rules...))
			e.DELETE("/users/:id", func(c echo.Context) error {
				assert.NoError(t, footfallechov4.Track(c, "in"))
				return c.String(http.StatusOK, c.Request().Method)
			})
			e.DELETE("/failing/:id", func(echo.Context) error { return errBoom })
			r := httptest.NewRequest("POST", "/people/7", nil)
			r.Header.Set(echo.HeaderXHTTPMethodOverride, "DELETE")
			w := httptest.NewRecorder()
			e.ServeHTTP(w, r)
			assert.Equal(t, "DELETE", w.Body.String())
			assert.Equal(t, "DELETE", r.Method, "which a handler of net/http above sees without the middleware too")
			assert.Equal(t, []string{"in", "deleted"}, tracker.Names())
			for _, event := range tracker.Events() {
				assert.Equal(t, tt.url, event.URL)
			}
			assert.Equal(t, map[string]any{"id": "7"}, tracker.Events()[1].Props)

			r = httptest.NewRequest("POST", "/failing/7", nil)
			r.Header.Set(echo.HeaderXHTTPMethodOverride, "DELETE")
			e.ServeHTTP(httptest.NewRecorder(), r)
			assert.Equal(t, "DELETE", r.Method, "after an error")
			assert.Equal(t, []string{"in", "deleted", "delete_failing_id"}, tracker.Names())
		})
	}
}

// Echo 4 routes the request that came, whatever Pre middlewares put in its place.
func TestWhereEchoHasNotRoutedTheRequestOnlyThisTrackWorks(t *testing.T) {
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

func TestPathPropsAreTheRoutersValues(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	e := echo.New()
	e.Use(footfallechov4.Middleware(tracker.Tracker,
		footfall.Rule{Route: "GET /shops/:shop/carts/:cart", Event: "cart_viewed", Props: []footfall.Prop{footfall.P("kind", "cart")}, PathProps: []string{"shop", "cart"}},
		footfall.Rule{Route: "POST /carts/:cart", Event: "cart_failed", PathProps: []string{"cart"}},
		footfall.Rule{Route: "GET /reports/year_:year/*", Event: "report_viewed", PathProps: []string{"year", "*"}},
		footfall.Rule{Route: "GET /", Event: "home_viewed"},
	))
	e.Group("/shops/:shop").GET("/carts/:cart", nothing)
	e.POST("/carts/:cart", func(echo.Context) error { return errBoom })
	e.GET("/reports/year_:year/*", nothing)
	e.GET("/", nothing)
	ask(e, "GET", "/shops/3/carts/x9")
	ask(e, "POST", "/carts/8")
	ask(e, "GET", "/")
	ask(e, "GET", "/reports/year_2026/a/b.pdf")
	events := tracker.Events()
	require.Len(t, events, 4)
	assert.Equal(t, map[string]any{"kind": "cart", "shop": "3", "cart": "x9"}, events[0].Props)
	assert.Equal(t, map[string]any{"cart": "8"}, events[1].Props)
	assert.Empty(t, events[2].Props)
	assert.Equal(t, map[string]any{"year": "2026", "*": "a/b.pdf"}, events[3].Props)
}

func TestMiddlewaresAboveSeeTheRequestAsWithout(t *testing.T) {
	t.Parallel()
	type key struct{}
	var came, after *http.Request
	tracker := footfalltest.New(t)
	e := echo.New()
	e.Use(func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			came = c.Request()
			err := next(c)
			after = c.Request()
			return err
		}
	}, footfallechov4.Middleware(tracker.Tracker))
	e.GET("/changed", func(c echo.Context) error {
		assert.NotSame(t, came, c.Request())
		assert.Equal(t, "2", c.FormValue("n"))
		c.Request().Method = "PUT"
		c.Request().Host = "elsewhere.example.com"
		return nil
	})
	e.GET("/fails", func(c echo.Context) error {
		assert.Equal(t, "2", c.FormValue("n"))
		return errBoom
	})
	e.GET("/replaced", func(c echo.Context) error {
		c.SetRequest(c.Request().WithContext(context.WithValue(c.Request().Context(), key{}, "below")))
		return nil
	})

	ask(e, "GET", "/changed?n=2")
	assert.Same(t, came, after)
	assert.Equal(t, "2", after.Form.Get("n"))
	assert.Equal(t, "PUT", after.Method)
	assert.Equal(t, "elsewhere.example.com", after.Host)

	ask(e, "GET", "/fails?n=2")
	assert.Equal(t, "2", came.Form.Get("n"))
	e.HTTPErrorHandler = func(error, echo.Context) {} // answers nothing
	ask(e, "GET", "/fails?n=2")
	assert.Equal(t, "2", came.Form.Get("n"))

	ask(e, "GET", "/replaced")
	assert.Equal(t, "below", after.Context().Value(key{}), "the request that a handler put in was taken away")
}

func TestTrackKnowsTrackerAndPage(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t, func(c *footfall.Config) { c.DefaultURL, c.Logger = "", slog.New(slog.DiscardHandler) })
	e := echo.New()
	e.Use(footfallechov4.Middleware(tracker.Tracker))
	ended := make(chan struct{})
	var outlives sync.WaitGroup
	e.Group("/shops").GET("/:id", func(c echo.Context) error {
		assert.NoError(t, footfallechov4.Track(c, "by echo's context", footfall.P("left", 3)))
		assert.NoError(t, footfall.Track(c.Request().Context(), "by the request's"))
		assert.Error(t, footfallechov4.Track(c, ""), "an event without a name")
		ctx := c.Request().Context()
		outlives.Go(func() {
			<-ended
			assert.NoError(t, footfall.Track(ctx, "later"))
		})
		return nil
	})
	ask(e, "GET", "http://shop.example.com/shops/7?utm_source=radio&token=secret")
	ask(e, "GET", "http://other.example.com/") // echo uses its context again
	close(ended)
	outlives.Wait()
	assert.Equal(t, []string{"by echo's context", "by the request's", "later"}, tracker.Names())
	for _, event := range tracker.Events() {
		assert.Equal(t, "http://shop.example.com/shops/7?utm_source=radio", event.URL)
	}
	assert.Equal(t, map[string]any{"left": 3.0}, tracker.Events()[0].Props)
}

func TestTrackWithoutTheMiddlewareSaysSo(t *testing.T) {
	t.Parallel()
	c := echo.New().NewContext(httptest.NewRequest("GET", "/", nil), httptest.NewRecorder())
	assert.ErrorIs(t, footfallechov4.Track(c, "seen"), footfall.ErrNoTracker)
}

func TestWithoutAContextValueTheRequestIsTheOneThatCame(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t, func(c *footfall.Config) { c.NoContextValue = true })
	e := echo.New()
	e.Use(footfallechov4.Middleware(tracker.Tracker, footfall.Rule{Route: "GET /:way", Event: "seen"}))
	var came *http.Request
	handler := func(c echo.Context) error {
		assert.Same(t, came, c.Request())
		assert.ErrorIs(t, footfallechov4.Track(c, "by echo's context"), footfall.ErrNoTracker)
		assert.NoError(t, tracker.TrackRequest(c.Request(), "by the request"))
		if c.Param("way") == "fails" {
			return errBoom
		}
		return nil
	}
	e.GET("/:way", handler)
	for _, path := range []string{"/works", "/fails"} {
		came = httptest.NewRequest("GET", path, nil)
		e.ServeHTTP(httptest.NewRecorder(), came)
	}
	assert.Equal(t, []string{"by the request", "seen", "by the request", "seen"}, tracker.Names())
}

func TestATrackerThatDoesNothingIsSafe(t *testing.T) {
	t.Parallel()
	disabled, err := footfall.New(footfall.Config{Disabled: true})
	require.NoError(t, err)
	for name, tracker := range map[string]*footfall.Tracker{"nil": nil, "disabled": disabled} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rule := footfall.Rule{Route: "GET /users/:id", Event: "seen", PathProps: []string{"id"}}
			e := echo.New()
			e.Use(footfallechov4.Middleware(tracker, rule))
			e.GET("/users/:id", func(c echo.Context) error {
				assert.NoError(t, footfallechov4.Track(c, "seen"))
				return c.String(http.StatusAccepted, c.Param("id"))
			})
			e.GET("/fails", func(echo.Context) error { return echo.ErrBadRequest })
			answer := ask(e, "GET", "/users/7")
			assert.Equal(t, http.StatusAccepted, answer.Code)
			assert.Equal(t, "7", answer.Body.String())
			assert.Equal(t, http.StatusBadRequest, ask(e, "GET", "/fails").Code)
			assert.Equal(t, http.StatusNotFound, ask(e, "GET", "/nowhere").Code)
			assert.NoError(t, footfallechov4.CheckRules(tracker, e, footfall.Rule{Route: "GET /nowhere"}))
		})
	}
}

func TestConfigSkipSeesTheRequest(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t, func(c *footfall.Config) {
		c.Skip = func(r *http.Request) bool { return r.Header.Get("X-Probe") != "" }
	})
	e := echo.New()
	e.Use(footfallechov4.Middleware(tracker.Tracker, footfall.Rule{Route: "GET /:way", Event: "seen"}))
	e.GET("/:way", func(echo.Context) error { return errBoom })
	for _, header := range []string{"X-Probe", "X-None"} {
		r := httptest.NewRequest("GET", "/fails", nil)
		r.Header.Set(header, "1")
		e.ServeHTTP(httptest.NewRecorder(), r)
	}
	assert.Equal(t, []string{"seen"}, tracker.Names())
}

func TestCheckRulesAsksTheRouter(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t).Tracker
	e := echo.New()
	e.GET("/users/:id", nothing)
	e.Group("/api").Group("/v1", middleware.Recover()).POST("/carts", nothing)
	e.Any("/hooks", nothing)
	e.Static("/assets", ".")
	e.RouteNotFound("/lost/*", nothing)
	e.Host("shop.example.com").Group("/carts").GET("/:id", nothing)
	tests := []struct {
		name string
		rule footfall.Rule
		says string // "" for no error
	}{
		{"a route", footfall.Rule{Route: "GET /users/:id", PathProps: []string{"id"}}, ""},
		{"a route under any method", footfall.Rule{Route: "/users/:id"}, ""},
		{"a route of groups", footfall.Rule{Route: "POST /api/v1/carts"}, ""},
		{"a route of any method", footfall.Rule{Route: "PATCH /hooks"}, ""},
		{"static files", footfall.Rule{Route: "GET /assets*", PathProps: []string{"*"}}, ""},
		{"every route", footfall.Rule{Route: footfall.AnyRoute}, ""},
		{"no route", footfall.Rule{Route: footfall.NoRoute}, ""},
		{"another method", footfall.Rule{Route: "POST /users/:id"}, "not registered"},
		{"another name of the wildcard", footfall.Rule{Route: "GET /users/:name"}, "not registered"},
		{"a path instead of a pattern", footfall.Rule{Route: "GET /users/7"}, "not registered"},
		{"a route of groups without the prefix", footfall.Rule{Route: "POST /carts"}, "not registered"},
		{"a route of RouteNotFound", footfall.Rule{Route: "GET /lost/*"}, "not registered"},
		{"the route that a group has for what it does not", footfall.Rule{Route: "/api/v1/*"}, "not registered"},
		{"a pattern of net/http", footfall.Rule{Route: "GET /users/{id}"}, "not registered"},
		{"a route of a host", footfall.Rule{Route: "GET shop.example.com/carts/:id"}, ""},
		{"a route of a host, for any host", footfall.Rule{Route: "GET /carts/:id"}, ""},
		{"a route of another host", footfall.Rule{Route: "GET example.com/carts/:id"}, "not registered"},
		{"a host of a route that has none", footfall.Rule{Route: "GET example.com/users/:id"}, "not registered"},
		{"a wildcard that the route lacks", footfall.Rule{Route: "GET /users/:id", PathProps: []string{"name"}}, "not a wildcard"},
		{"no path", footfall.Rule{Route: "users"}, "has no path"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := footfallechov4.CheckRules(tracker, e, tt.rule)
			if tt.says == "" {
				assert.NoError(t, err)
				return
			}
			assert.ErrorContains(t, err, tt.says)
			_, ok := errors.AsType[*footfall.FieldError](err)
			assert.True(t, ok)
		})
	}
	err := footfallechov4.CheckRules(tracker, e, footfall.Rule{Route: "GET /a"}, footfall.Rule{Route: "GET /users/:id"}, footfall.Rule{Route: "GET /b"})
	assert.ErrorContains(t, err, "GET /a")
	assert.ErrorContains(t, err, "GET /b")
	assert.NotContains(t, err.Error(), "GET /users/:id")
}

func TestARuleThatIsWrongIsLoggedAndLeftOut(t *testing.T) {
	t.Parallel()
	var logged bytes.Buffer
	tracker := footfalltest.New(t, func(c *footfall.Config) { c.Logger = slog.New(slog.NewTextHandler(&logged, nil)) })
	e := echo.New()
	e.Use(footfallechov4.Middleware(tracker.Tracker, footfall.Rule{Event: "wrong"}, footfall.Rule{Route: "GET /", Event: "right"}))
	e.GET("/", nothing)
	ask(e, "GET", "/")
	assert.Equal(t, []string{"right"}, tracker.Names())
	assert.Contains(t, logged.String(), "a rule has no effect")
}

// The README's first Go block is a whole program.
func TestTheProgramOfTheREADMECompiles(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	block := regexp.MustCompile("(?s)```go\n(package main\n.*?)```").FindSubmatch(readme)
	require.NotNil(t, block)
	program := filepath.Join(t.TempDir(), "main.go")
	require.NoError(t, os.WriteFile(program, block[1], 0o600))
	cmd := exec.CommandContext(t.Context(), "go", "vet", program)
	cmd.Env = append(os.Environ(), "GOWORK=off")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
}
