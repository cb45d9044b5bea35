package footfallgin_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/adaptertest"
	"github.com/footfall-dev/footfall/adapters/footfallgin"
	"github.com/footfall-dev/footfall/footfalltest"
)

// ask sends one request to the engine and returns the answer.
func ask(engine http.Handler, method, target string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	engine.ServeHTTP(w, httptest.NewRequest(method, target, nil))
	return w
}

func nothing(*gin.Context) {}

// A recovery above the middleware decides what the client sees; one below also decides what
// is recorded.
func TestARecoveryMayAnswerAPanicWithAnotherStatus(t *testing.T) {
	t.Parallel()
	for place, want := range map[string]string{"above": "client error", "below": "server error"} {
		t.Run("with the middleware "+place, func(t *testing.T) {
			t.Parallel()
			tracker := footfalltest.New(t)
			both := []gin.HandlerFunc{
				footfallgin.Middleware(tracker.Tracker, adaptertest.Classes("GET /panic")...),
				gin.CustomRecoveryWithWriter(io.Discard, func(c *gin.Context, _ any) { c.AbortWithStatus(http.StatusNotFound) }),
			}
			if place == "below" {
				slices.Reverse(both)
			}
			engine := gin.New()
			engine.Use(both...)
			engine.GET("/panic", panicsDeepDown)
			assert.Equal(t, http.StatusNotFound, ask(engine, "GET", "/panic").Code)
			assert.Equal(t, []string{want}, tracker.Names())
		})
	}
}

func panicsDeepDown(*gin.Context) { panic("boom") }

func TestRecoveryAboveStillPrintsWhereTheHandlerPanicked(t *testing.T) {
	t.Parallel()
	var printed bytes.Buffer
	engine := gin.New()
	engine.Use(gin.RecoveryWithWriter(&printed), footfallgin.Middleware(footfalltest.New(t).Tracker, adaptertest.Classes("GET /panic")...))
	engine.GET("/panic", panicsDeepDown)
	assert.Equal(t, http.StatusInternalServerError, ask(engine, "GET", "/panic").Code)
	assert.Contains(t, printed.String(), "panicsDeepDown")
}

// answerErrors answers for handlers that add errors, as gin's documentation shows.
func answerErrors(c *gin.Context) {
	c.Next()
	if len(c.Errors) > 0 {
		c.JSON(http.StatusUnprocessableEntity, gin.H{"error": c.Errors.Last().Error()})
	}
}

func TestStatusComesFromTheMiddlewareThatAnswersErrors(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	engine := gin.New()
	engine.Use(footfallgin.Middleware(tracker.Tracker, adaptertest.Classes("GET /fails")...), answerErrors)
	engine.GET("/fails", func(c *gin.Context) { _ = c.Error(errors.New("no such thing")) })
	assert.Equal(t, http.StatusUnprocessableEntity, ask(engine, "GET", "/fails").Code)
	assert.Equal(t, []string{"client error"}, tracker.Names())
}

// ownWriter is a writer of another middleware, such as one that compresses.
type ownWriter struct{ gin.ResponseWriter }

func TestWriterOfALowerMiddlewareIsUsed(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	engine := gin.New()
	engine.Use(footfallgin.Middleware(tracker.Tracker, adaptertest.Classes("GET /")...), func(c *gin.Context) { c.Writer = &ownWriter{c.Writer} })
	engine.GET("/", func(c *gin.Context) { c.Status(http.StatusNotFound) })
	ask(engine, "GET", "/")
	assert.Equal(t, []string{"client error"}, tracker.Names())
}

// gin's writer cannot send an informational answer; the writer below it can.
func TestInformationalStatusIsNotRecorded(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	engine := gin.New()
	engine.Use(footfallgin.Middleware(tracker.Tracker, append(adaptertest.Classes("GET /through"), adaptertest.Classes("GET /around")...)...))
	engine.GET("/through", func(c *gin.Context) {
		c.Writer.WriteHeader(http.StatusEarlyHints)
		c.Writer.WriteHeader(http.StatusNotFound)
	})
	engine.GET("/around", func(c *gin.Context) {
		if w, ok := c.Writer.(interface{ Unwrap() http.ResponseWriter }); ok { // not before gin v1.9.1
			w.Unwrap().WriteHeader(http.StatusEarlyHints)
		}
		c.Status(http.StatusNotFound)
	})
	server := httptest.NewServer(engine)
	defer server.Close()
	for _, path := range []string{"/through", "/around"} {
		answer, err := http.Get(server.URL + path)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		assert.Equal(t, http.StatusNotFound, answer.StatusCode)
	}
	assert.Equal(t, []string{"client error", "client error"}, tracker.Names())
}

func TestRedirectByGinMakesNoEvent(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	engine := gin.New()
	engine.Use(footfallgin.Middleware(tracker.Tracker, footfall.Rule{Route: footfall.AnyRoute}))
	engine.GET("/new/", nothing)
	assert.Equal(t, http.StatusMovedPermanently, ask(engine, "GET", "/new").Code)
	assert.Empty(t, tracker.Names())
	ask(engine, "GET", "/new/")
	assert.Equal(t, []string{"get_new"}, tracker.Names())
}

func TestRequestsThatNoRouteMatches(t *testing.T) {
	t.Parallel()
	all := footfall.Rule{Route: footfall.AnyRoute}
	none := footfall.Rule{Route: footfall.NoRoute}
	tests := []struct {
		name  string
		rules []footfall.Rule
		build func(engine *gin.Engine, middleware gin.HandlerFunc)
		want  []string
	}{
		{"404 and 405 are not asked for", []footfall.Rule{all}, onEngine, []string{}},
		{"404 and 405 are asked for", []footfall.Rule{all, none}, onEngine, []string{"get_no_route", "post_no_route"}},
		{"handlers of NoRoute and NoMethod answer as gin does", []footfall.Rule{all, none}, withPages(0), []string{"get_no_route", "post_no_route", "fallback", "fallback"}},
		{"handlers of NoRoute and NoMethod answer 200", []footfall.Rule{all, none}, withPages(200), []string{"fallback", "fallback"}},
		{"the middleware is on a group only", []footfall.Rule{all, none}, onGroup, []string{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tracker := footfalltest.New(t)
			engine := gin.New()
			engine.HandleMethodNotAllowed = true
			tt.build(engine, footfallgin.Middleware(tracker.Tracker, tt.rules...))
			ask(engine, "GET", "/api/secret")
			ask(engine, "POST", "/api/known")
			assert.ElementsMatch(t, tt.want, tracker.Names())
		})
	}
}

func onEngine(engine *gin.Engine, middleware gin.HandlerFunc) {
	engine.Use(middleware)
	engine.GET("/api/known", nothing)
}

func onGroup(engine *gin.Engine, middleware gin.HandlerFunc) {
	engine.Group("/api", middleware).GET("/known", nothing)
}

// withPages adds handlers for requests that no route matches. They answer with the status,
// or leave the answer to gin if it is 0.
func withPages(status int) func(engine *gin.Engine, middleware gin.HandlerFunc) {
	return func(engine *gin.Engine, middleware gin.HandlerFunc) {
		onEngine(engine, middleware)
		page := func(c *gin.Context) {
			_ = footfallgin.Track(c, "fallback")
			if status != 0 {
				c.String(status, "a page")
			}
		}
		engine.NoRoute(page)
		engine.NoMethod(page)
	}
}

func TestHandleContextMakesTheEventsOfBothRoutes(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	engine := gin.New()
	rules := []footfall.Rule{
		{Route: "GET /old/:id", Event: "old", PathProps: []string{"id"}},
		{Route: "GET /new/:name", Event: "new", PathProps: []string{"name"}},
	}
	var before, after []*http.Request // of both passages; the inner one ends first
	engine.Use(func(c *gin.Context) {
		before = append(before, c.Request)
		c.Next()
		after = append(after, c.Request)
	}, footfallgin.Middleware(tracker.Tracker, rules...))
	engine.GET("/old/:id", func(c *gin.Context) {
		c.Request.URL.Path = "/new/teapot"
		engine.HandleContext(c)
	})
	engine.GET("/new/:name", nothing)
	ask(engine, "GET", "/old/7")
	events := tracker.Events()
	require.Len(t, events, 2)
	assert.Equal(t, "new", events[0].Name)
	assert.Equal(t, map[string]any{"name": "teapot"}, events[0].Props)
	assert.Equal(t, "old", events[1].Name)
	assert.Equal(t, map[string]any{"id": "7"}, events[1].Props)
	assert.Equal(t, "http://example.com/old/7", events[1].URL)
	require.Len(t, after, 2)
	assert.Same(t, before[1], after[0])
	assert.Same(t, before[0], after[1])
}

func TestRecoveryAboveHasTheOriginalRequest(t *testing.T) {
	t.Parallel()
	var came, recovered *http.Request
	engine := gin.New()
	engine.Use(func(c *gin.Context) { came = c.Request }, gin.CustomRecoveryWithWriter(nil, func(c *gin.Context, _ any) { recovered = c.Request }),
		footfallgin.Middleware(footfalltest.New(t).Tracker))
	engine.GET("/", func(*gin.Context) { panic("boom") })
	ask(engine, "GET", "/")
	assert.Same(t, came, recovered)
}

func TestGinsContextCarriesTheTracker(t *testing.T) {
	t.Parallel()
	for name, fallback := range map[string]bool{"with ContextWithFallback": true, "without ContextWithFallback": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tracker := footfalltest.New(t, func(c *footfall.Config) { c.DefaultURL = "" })
			engine := gin.New()
			if setting := reflect.ValueOf(engine).Elem().FieldByName("ContextWithFallback"); setting.IsValid() {
				setting.SetBool(fallback)
			} else if fallback {
				t.Skip("gin v1.7 does not have it")
			}
			engine.Use(footfallgin.Middleware(tracker.Tracker))
			ended := make(chan struct{})
			var outlives sync.WaitGroup
			engine.GET("/shops/:id", func(c *gin.Context) {
				if err := footfall.Track(c, "by gin's as a context"); fallback {
					assert.NoError(t, err)
				} else {
					assert.ErrorIs(t, err, footfall.ErrNoTracker)
				}
				later := c.Copy()
				outlives.Go(func() {
					<-ended
					assert.NoError(t, footfallgin.Track(later, "later"))
				})
			})
			ask(engine, "GET", "http://shop.example.com/shops/7")
			ask(engine, "GET", "http://other.example.com/") // gin uses its context again
			close(ended)
			outlives.Wait()
			want := []string{"by gin's as a context", "later"}
			if !fallback {
				want = want[1:]
			}
			assert.Equal(t, want, tracker.Names())
			for _, e := range tracker.Events() {
				assert.Equal(t, "http://shop.example.com/shops/7", e.URL)
			}
		})
	}
}

func TestTrackOfAContextWithoutARequestSaysSo(t *testing.T) {
	t.Parallel()
	c, _ := gin.CreateTestContext(httptest.NewRecorder())
	assert.ErrorIs(t, footfallgin.Track(c, "seen"), footfall.ErrNoTracker)
}
