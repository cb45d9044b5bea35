package footfallgin_test

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
	"strings"
	"sync"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/footfallgin"
	"github.com/footfall-dev/footfall/footfalltest"
)

// ask sends one request to the engine and returns the answer.
func ask(engine http.Handler, method, target string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	engine.ServeHTTP(w, httptest.NewRequest(method, target, nil))
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

func nothing(*gin.Context) {}

func TestRecoveryMayStandOnEitherSide(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	tests := []struct {
		name         string
		panics       any
		answer       int // of the custom recovery
		above, below string
	}{
		{"a panic that the recovery answers with 500", boom, 500, "server error", "server error"},
		{"a panic that the recovery answers with 404", boom, 404, "client error", "server error"},
		{"http.ErrAbortHandler", http.ErrAbortHandler, 500, "aborted", "aborted"},
	}
	for _, tt := range tests {
		for place, want := range map[string]string{"above": tt.above, "below": tt.below} {
			t.Run(tt.name+", with the middleware "+place, func(t *testing.T) {
				t.Parallel()
				tracker := footfalltest.New(t)
				var recovered []any
				recovery := gin.CustomRecoveryWithWriter(io.Discard, func(c *gin.Context, v any) {
					recovered = append(recovered, v)
					c.AbortWithStatus(tt.answer)
				})
				middleware := footfallgin.Middleware(tracker.Tracker, classes("GET /panic")...)
				engine := gin.New()
				if place == "above" {
					engine.Use(middleware, recovery)
				} else {
					engine.Use(recovery, middleware)
				}
				engine.GET("/panic", func(*gin.Context) { panic(tt.panics) })

				answer := ask(engine, "GET", "/panic")

				assert.Equal(t, []string{want}, tracker.Names())
				if tt.panics == boom {
					assert.Equal(t, []any{boom}, recovered)
					assert.Equal(t, tt.answer, answer.Code)
				}
			})
		}
	}
}

func panicsDeepDown(*gin.Context) { panic("boom") }

func TestRecoveryAboveStillPrintsWhereTheHandlerPanicked(t *testing.T) {
	t.Parallel()
	var printed bytes.Buffer
	engine := gin.New()
	engine.Use(gin.RecoveryWithWriter(&printed), footfallgin.Middleware(footfalltest.New(t).Tracker, classes("GET /panic")...))
	engine.GET("/panic", panicsDeepDown)
	assert.Equal(t, http.StatusInternalServerError, ask(engine, "GET", "/panic").Code)
	assert.Contains(t, printed.String(), "panicsDeepDown")
}

func TestAHandlerThatEndsItsGoroutineIsAborted(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	engine := gin.New()
	engine.Use(footfallgin.Middleware(tracker.Tracker, classes("GET /exit")...))
	engine.GET("/exit", func(*gin.Context) { runtime.Goexit() })
	var ended sync.WaitGroup
	ended.Go(func() { ask(engine, "GET", "/exit") })
	ended.Wait()
	assert.Equal(t, []string{"aborted"}, tracker.Names())
}

// answerErrors is how gin's documentation answers for handlers that note errors.
func answerErrors(c *gin.Context) {
	c.Next()
	if len(c.Errors) > 0 {
		c.JSON(http.StatusUnprocessableEntity, gin.H{"error": c.Errors.Last().Error()})
	}
}

func TestTheStatusIsThatOfTheMiddlewareThatAnswersForErrors(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	engine := gin.New()
	engine.Use(footfallgin.Middleware(tracker.Tracker, classes("GET /fails")...), answerErrors)
	engine.GET("/fails", func(c *gin.Context) { _ = c.Error(errors.New("no such thing")) })
	assert.Equal(t, http.StatusUnprocessableEntity, ask(engine, "GET", "/fails").Code)
	assert.Equal(t, []string{"client error"}, tracker.Names())
}

func TestWhatAMiddlewareBelowRefusesIsRecorded(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	engine := gin.New()
	engine.Use(footfallgin.Middleware(tracker.Tracker, classes("GET /admin")...))
	engine.Use(func(c *gin.Context) { c.AbortWithStatus(http.StatusUnauthorized) })
	engine.GET("/admin", nothing)
	assert.Equal(t, http.StatusUnauthorized, ask(engine, "GET", "/admin").Code)
	assert.Equal(t, []string{"client error"}, tracker.Names())
}

// ownWriter is a writer that some middleware puts in, as for compression.
type ownWriter struct{ gin.ResponseWriter }

func TestAWriterPutInBelowIsAsked(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	engine := gin.New()
	engine.Use(footfallgin.Middleware(tracker.Tracker, classes("GET /")...), func(c *gin.Context) { c.Writer = &ownWriter{c.Writer} })
	engine.GET("/", func(c *gin.Context) { c.Status(http.StatusNotFound) })
	ask(engine, "GET", "/")
	assert.Equal(t, []string{"client error"}, tracker.Names())
}

// What is impossible through gin's writer, and what takes its place.
func TestAnInformationalStatusIsNotTheAnswers(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	engine := gin.New()
	engine.Use(footfallgin.Middleware(tracker.Tracker, append(classes("GET /through"), classes("GET /around")...)...))
	engine.GET("/through", func(c *gin.Context) {
		c.Writer.WriteHeader(http.StatusEarlyHints)
		c.Writer.WriteHeader(http.StatusNotFound)
	})
	engine.GET("/around", func(c *gin.Context) {
		c.Writer.(interface{ Unwrap() http.ResponseWriter }).Unwrap().WriteHeader(http.StatusEarlyHints)
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

func TestARedirectToAnotherSpellingIsNoVisit(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	engine := gin.New()
	engine.Use(footfallgin.Middleware(tracker.Tracker, footfall.Rule{Route: footfall.AnyRoute}))
	engine.GET("/docs", func(c *gin.Context) { c.Redirect(http.StatusMovedPermanently, "/docs/") })
	engine.GET("/docs/", nothing)
	engine.GET("/old", func(c *gin.Context) { c.Redirect(http.StatusFound, "/new") })
	engine.GET("/new/", nothing)
	for _, path := range []string{"/docs", "/docs/", "/old", "/new", "/new/"} { // gin itself answers for /new
		ask(engine, "GET", path)
	}
	assert.Equal(t, []string{"get_docs", "get_old", "get_new"}, tracker.Names())
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

// withPages adds handlers for what no route matches, which answer with the status or,
// if it is 0, leave that to gin.
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

func TestPathPropsAreTheRoutersValues(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	engine := gin.New()
	engine.Use(footfallgin.Middleware(tracker.Tracker,
		footfall.Rule{Route: "GET /shops/:shop/files/*path", Event: "file_viewed", Props: []footfall.Prop{footfall.P("kind", "file")}, PathProps: []string{"shop", "path"}},
		footfall.Rule{Route: "GET /", Event: "home_viewed"},
	))
	engine.Group("/shops/:shop").GET("/files/*path", nothing)
	engine.GET("/", nothing)
	ask(engine, "GET", "/shops/3/files/a/b%20c")
	ask(engine, "GET", "/")
	events := tracker.Events()
	require.Len(t, events, 2)
	assert.Equal(t, map[string]any{"kind": "file", "shop": "3", "path": "/a/b c"}, events[0].Props)
	assert.Empty(t, events[1].Props)
}

func TestEachRouteOfARequestThatIsSentOnMakesItsOwnEvents(t *testing.T) {
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

func TestMiddlewaresAboveSeeTheRequestAsWithout(t *testing.T) {
	t.Parallel()
	type key struct{}
	var came *http.Request
	var after *http.Request
	tracker := footfalltest.New(t)
	engine := gin.New()
	engine.Use(func(c *gin.Context) {
		came = c.Request
		c.Next()
		after = c.Request
	}, footfallgin.Middleware(tracker.Tracker))
	engine.GET("/changed", func(c *gin.Context) {
		assert.NotSame(t, came, c.Request)
		assert.Equal(t, "2", c.Query("n"))
		require.NoError(t, c.Request.ParseForm())
		c.Request.Method = "PUT"
		c.Request.Host = "elsewhere.example.com"
	})
	engine.GET("/replaced", func(c *gin.Context) {
		c.Request = c.Request.WithContext(context.WithValue(c.Request.Context(), key{}, "below"))
	})
	engine.GET("/panics", func(*gin.Context) { panic("boom") })

	ask(engine, "GET", "/changed?n=2")
	assert.Same(t, came, after)
	assert.Equal(t, "2", after.Form.Get("n"))
	assert.Equal(t, "PUT", after.Method)
	assert.Equal(t, "elsewhere.example.com", after.Host)

	ask(engine, "GET", "/replaced")
	assert.Equal(t, "below", after.Context().Value(key{}), "the request that a handler put in was taken away")
}

func TestRecoveryAboveHasTheRequestThatCame(t *testing.T) {
	t.Parallel()
	var came, recovered *http.Request
	engine := gin.New()
	engine.Use(func(c *gin.Context) { came = c.Request }, gin.CustomRecoveryWithWriter(nil, func(c *gin.Context, _ any) { recovered = c.Request }),
		footfallgin.Middleware(footfalltest.New(t).Tracker))
	engine.GET("/", func(*gin.Context) { panic("boom") })
	ask(engine, "GET", "/")
	assert.Same(t, came, recovered)
}

func TestTrackKnowsTrackerAndPage(t *testing.T) {
	t.Parallel()
	for name, fallback := range map[string]bool{"with ContextWithFallback": true, "without ContextWithFallback": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tracker := footfalltest.New(t, func(c *footfall.Config) { c.DefaultURL, c.Logger = "", slog.New(slog.DiscardHandler) })
			engine := gin.New()
			engine.ContextWithFallback = fallback
			engine.Use(footfallgin.Middleware(tracker.Tracker))
			ended := make(chan struct{})
			var outlives sync.WaitGroup
			engine.Group("/shops").GET("/:id", func(c *gin.Context) {
				assert.NoError(t, footfallgin.Track(c, "by gin's context", footfall.P("left", 3)))
				assert.NoError(t, footfall.Track(c.Request.Context(), "by the request's"))
				if err := footfall.Track(c, "by gin's as a context"); fallback {
					assert.NoError(t, err)
				} else {
					assert.ErrorIs(t, err, footfall.ErrNoTracker)
				}
				assert.Error(t, footfallgin.Track(c, ""), "an event without a name")
				later := c.Copy()
				outlives.Go(func() {
					<-ended
					assert.NoError(t, footfallgin.Track(later, "later"))
				})
			})
			ask(engine, "GET", "http://shop.example.com/shops/7?utm_source=radio&token=secret")
			ask(engine, "GET", "http://other.example.com/") // gin uses its context again
			close(ended)
			outlives.Wait()
			want := []string{"by gin's context", "by the request's", "by gin's as a context", "later"}
			if !fallback {
				want = append(want[:2], want[3])
			}
			assert.Equal(t, want, tracker.Names())
			for _, e := range tracker.Events() {
				assert.Equal(t, "http://shop.example.com/shops/7?utm_source=radio", e.URL)
			}
			assert.Equal(t, map[string]any{"left": 3.0}, tracker.Events()[0].Props)
		})
	}
}

func TestTrackWithoutTheMiddlewareSaysSo(t *testing.T) {
	t.Parallel()
	c := gin.CreateTestContextOnly(httptest.NewRecorder(), gin.New())
	assert.ErrorIs(t, footfallgin.Track(c, "seen"), footfall.ErrNoTracker, "a context without a request")
	c.Request = httptest.NewRequest("GET", "/", nil)
	assert.ErrorIs(t, footfallgin.Track(c, "seen"), footfall.ErrNoTracker)
}

func TestWithoutAContextValueTheRequestIsTheOneThatCame(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t, func(c *footfall.Config) { c.NoContextValue = true })
	engine := gin.New()
	var came *http.Request
	engine.Use(func(c *gin.Context) { came = c.Request }, footfallgin.Middleware(tracker.Tracker, footfall.Rule{Route: "GET /", Event: "seen"}))
	engine.GET("/", func(c *gin.Context) {
		assert.Same(t, came, c.Request)
		assert.ErrorIs(t, footfallgin.Track(c, "by gin's context"), footfall.ErrNoTracker)
		assert.NoError(t, tracker.TrackRequest(c.Request, "by the request"))
	})
	ask(engine, "GET", "/")
	assert.Equal(t, []string{"by the request", "seen"}, tracker.Names())
}

func TestATrackerThatDoesNothingIsSafe(t *testing.T) {
	t.Parallel()
	disabled, err := footfall.New(footfall.Config{Disabled: true})
	require.NoError(t, err)
	for name, tracker := range map[string]*footfall.Tracker{"nil": nil, "disabled": disabled} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rule := footfall.Rule{Route: "GET /users/:id", Event: "seen", PathProps: []string{"id"}}
			engine := gin.New()
			engine.Use(footfallgin.Middleware(tracker, rule))
			engine.GET("/users/:id", func(c *gin.Context) {
				assert.NoError(t, footfallgin.Track(c, "seen"))
				c.String(http.StatusAccepted, c.Param("id"))
			})
			answer := ask(engine, "GET", "/users/7")
			assert.Equal(t, http.StatusAccepted, answer.Code)
			assert.Equal(t, "7", answer.Body.String())
			assert.NoError(t, footfallgin.CheckRules(tracker, engine, footfall.Rule{Route: "GET /nowhere"}))
		})
	}
}

func TestConfigSkipSeesTheRequest(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t, func(c *footfall.Config) {
		c.Skip = func(r *http.Request) bool { return r.Header.Get("X-Probe") != "" }
	})
	engine := gin.New()
	engine.Use(footfallgin.Middleware(tracker.Tracker, footfall.Rule{Route: "GET /", Event: "seen"}))
	engine.GET("/", nothing)
	for _, header := range []string{"X-Probe", "X-None"} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set(header, "1")
		engine.ServeHTTP(httptest.NewRecorder(), r)
	}
	assert.Equal(t, []string{"seen"}, tracker.Names())
}

func TestCheckRulesAsksTheEngine(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t).Tracker
	engine := gin.New()
	engine.GET("/users/:id", nothing)
	engine.Group("/api").Group("/v1").POST("/carts", nothing)
	engine.Any("/hooks", nothing)
	engine.Static("/assets", t.TempDir())
	engine.POST(`/users\:batch`, nothing)
	tests := []struct {
		name string
		rule footfall.Rule
		says string // "" for no error
	}{
		{"a route", footfall.Rule{Route: "GET /users/:id", PathProps: []string{"id"}}, ""},
		{"a route under any method", footfall.Rule{Route: "/users/:id"}, ""},
		{"a route of groups", footfall.Rule{Route: "POST /api/v1/carts"}, ""},
		{"a route of any method", footfall.Rule{Route: "PATCH /hooks"}, ""},
		{"static files", footfall.Rule{Route: "GET /assets/*filepath", PathProps: []string{"filepath"}}, ""},
		{"a colon that is none of a wildcard", footfall.Rule{Route: "POST /users:batch"}, ""},
		{"every route", footfall.Rule{Route: footfall.AnyRoute}, ""},
		{"no route", footfall.Rule{Route: footfall.NoRoute}, ""},
		{"another method", footfall.Rule{Route: "POST /users/:id"}, "not registered"},
		{"another name of the wildcard", footfall.Rule{Route: "GET /users/:name"}, "not registered"},
		{"a path instead of a pattern", footfall.Rule{Route: "GET /users/7"}, "not registered"},
		{"a route of groups without the prefix", footfall.Rule{Route: "POST /carts"}, "not registered"},
		{"a pattern of net/http", footfall.Rule{Route: "GET /users/{id}"}, "not registered"},
		{"a host", footfall.Rule{Route: "GET example.com/users/:id"}, "not registered"},
		{"a wildcard that the route lacks", footfall.Rule{Route: "GET /users/:id", PathProps: []string{"name"}}, "not a wildcard"},
		{"no path", footfall.Rule{Route: "users"}, "has no path"},
	}
	check := func(t *testing.T) {
		for _, tt := range tests {
			err := footfallgin.CheckRules(tracker, engine, tt.rule)
			if tt.says == "" {
				assert.NoError(t, err, tt.name)
				continue
			}
			assert.ErrorContains(t, err, tt.says, tt.name)
			_, ok := errors.AsType[*footfall.FieldError](err)
			assert.True(t, ok, tt.name)
		}
	}
	check(t)
	ask(engine, "GET", "/") // from then on gin lists routes in another form
	check(t)
	err := footfallgin.CheckRules(tracker, engine, footfall.Rule{Route: "GET /a"}, footfall.Rule{Route: "GET /users/:id"}, footfall.Rule{Route: "GET /b"})
	assert.ErrorContains(t, err, "GET /a")
	assert.ErrorContains(t, err, "GET /b")
	assert.NotContains(t, err.Error(), "GET /users/:id")
}

func TestARuleThatIsWrongIsLoggedAndLeftOut(t *testing.T) {
	t.Parallel()
	var logged bytes.Buffer
	tracker := footfalltest.New(t, func(c *footfall.Config) { c.Logger = slog.New(slog.NewTextHandler(&logged, nil)) })
	engine := gin.New()
	engine.Use(footfallgin.Middleware(tracker.Tracker, footfall.Rule{Event: "wrong"}, footfall.Rule{Route: "GET /", Event: "right"}))
	engine.GET("/", nothing)
	ask(engine, "GET", "/")
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
	require.NoError(t, err, strings.TrimSpace(string(out)))
}
