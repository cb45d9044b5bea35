package footfallfiberv2_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fasthttp/websocket"
	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/recover"
	"github.com/gofiber/fiber/v2/middleware/timeout"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/footfallfiberv2"
	"github.com/footfall-dev/footfall/footfalltest"
)

// patience bounds whatever a test waits for.
const patience = 15 * time.Second

var quiet = fiber.Config{DisableStartupMessage: true}

func seen(route string) footfall.Rule { return footfall.Rule{Route: route, Event: "seen"} }

// classes are rules whose event says which class the status was of.
var classes = []footfall.Rule{
	{Route: footfall.AnyRoute, Event: "success", Status: footfall.Success},
	{Route: footfall.AnyRoute, Event: "client error", Status: footfall.ClientError},
	{Route: footfall.AnyRoute, Event: "server error", Status: footfall.ServerError},
}

// ask sends a request without a server and returns status and body.
func ask(t *testing.T, app *fiber.App, method, target string, headers ...string) (int, string) {
	t.Helper()
	r := httptest.NewRequest(method, target, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := app.Test(r, int(patience.Milliseconds()))
	require.NoError(t, err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer.StatusCode, string(body)
}

// open serves app on a socket and returns its address.
func open(t *testing.T, app *fiber.App) (address string, stop func()) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	return l.Addr().String(), serve(t, app, l)
}

func fine(c *fiber.Ctx) error { return c.SendString("fine") }

func TestTrackKnowsThePageOfTheRequest(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	app := fiber.New(quiet)
	app.Use(footfallfiberv2.Middleware(tracker.Tracker))
	app.Get("/products/:id", func(c *fiber.Ctx) error {
		return footfallfiberv2.Track(c, "stock_checked", footfall.P("id", c.Params("id")))
	})
	ask(t, app, "GET", "http://shop.example.com/products/7?utm_source=mail&token=x")
	events := tracker.Events()
	require.Len(t, events, 1)
	assert.Equal(t, "http://shop.example.com/products/7?utm_source=mail", events[0].URL)
	assert.Equal(t, "7", events[0].Props["id"])
}

func TestTrackWithoutTheMiddlewareSaysSo(t *testing.T) {
	t.Parallel()
	app := fiber.New(quiet)
	app.Get("/", func(c *fiber.Ctx) error {
		assert.ErrorIs(t, footfallfiberv2.Track(c, "lost"), footfall.ErrNoTracker)
		return nil
	})
	ask(t, app, "GET", "/")
}

func TestThePageOutlivesTheBuffersOfItsRequest(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	app := fiber.New(quiet)
	app.Use(footfallfiberv2.Middleware(tracker.Tracker))
	kept := make(chan context.Context, 1)
	app.Get("/kept/:id", func(c *fiber.Ctx) error {
		kept <- c.UserContext()
		return nil
	})
	app.Get("/other/*", fine)
	address, stop := open(t, app)
	conn, err := net.Dial("tcp", address) // one connection, whose buffers are used again
	require.NoError(t, err)
	defer conn.Close()
	answers := bufio.NewReader(conn)
	for _, path := range []string{"/kept/0123456789?ref=abcdef", "/other/xxxxxxxxxxxxxxxxxxxx?ref=yyyyyyyy", "/other/zzzzzzzz"} {
		_, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: shop-%d.example.com\r\n\r\n", path, len(path))
		require.NoError(t, err)
		answer, err := http.ReadResponse(answers, nil)
		require.NoError(t, err)
		_, err = io.Copy(io.Discard, answer.Body)
		require.NoError(t, err)
	}
	conn.Close()
	stop()
	require.NoError(t, footfall.Track(<-kept, "afterwards"))
	assert.Equal(t, "http://shop-27.example.com/kept/0123456789?ref=abcdef", tracker.Events()[0].URL)
}

func TestThePageIsThatOfTheRequestAsItCame(t *testing.T) {
	t.Parallel()
	for target, want := range map[string]string{
		"/a%20b/%2Fc":        "http://shop.example.com/a%20b/%2Fc",
		"/straße":            "http://shop.example.com/stra%C3%9Fe",
		"/100%25":            "http://shop.example.com/100%25",
		"/a/../b//c?ref=x#y": "http://shop.example.com/a/../b//c?ref=x",
		"/%zz":               "http://shop.example.com/%25zz",
	} {
		tracker := footfalltest.New(t)
		app := fiber.New(quiet)
		app.Use(footfallfiberv2.Middleware(tracker.Tracker, seen(footfall.AnyRoute)), func(c *fiber.Ctx) error {
			c.Path("/changed")
			c.Request().SetHost("changed.example.com")
			return c.Next()
		})
		app.Get("/changed", fine)
		address, stop := open(t, app)
		conn, err := net.Dial("tcp", address)
		require.NoError(t, err)
		_, err = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: Shop.example.com\r\nConnection: close\r\n\r\n", target)
		require.NoError(t, err)
		_, err = io.Copy(io.Discard, conn)
		require.NoError(t, err)
		conn.Close()
		stop()
		events := tracker.Events()
		if assert.Len(t, events, 1, target) {
			assert.Equal(t, want, events[0].URL)
		}
	}
}

func TestAPageOverTLSIsHTTPS(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	app := fiber.New(quiet)
	app.Use(footfallfiberv2.Middleware(tracker.Tracker, seen("GET /")))
	app.Get("/", fine)
	lent := httptest.NewTLSServer(nil) // its certificate and its client
	defer lent.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	stop := serve(t, app, tls.NewListener(l, &tls.Config{Certificates: lent.TLS.Certificates}))
	answer, err := lent.Client().Get("https://" + l.Addr().String())
	require.NoError(t, err)
	answer.Body.Close()
	stop()
	assert.Equal(t, "https://"+l.Addr().String()+"/", tracker.Events()[0].URL)
}

func TestOnlyTrustedProxiesAreBelieved(t *testing.T) {
	t.Parallel()
	for proxy, want := range map[string]string{"127.0.0.0/8": "https://shop.example.com/", "192.0.2.0/24": "http://127.0.0.1:"} {
		tracker := footfalltest.New(t, func(c *footfall.Config) { c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix(proxy)} })
		app := fiber.New(quiet)
		app.Use(footfallfiberv2.Middleware(tracker.Tracker, seen("GET /")))
		app.Get("/", fine)
		address, stop := open(t, app)
		r, err := http.NewRequest("GET", "http://"+address, nil)
		require.NoError(t, err)
		r.Header.Set("X-Forwarded-Proto", "https")
		r.Header.Set("X-Forwarded-Host", "shop.example.com")
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		answer.Body.Close()
		stop()
		assert.Contains(t, tracker.Events()[0].URL, want)
	}
}

func TestSkipPrefetchAndRefererLookAtTheRequest(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t, func(c *footfall.Config) {
		c.Skip = func(r *http.Request) bool {
			return strings.Contains(r.UserAgent(), "bot") || r.Header.Get("DNT") == "1" || r.Header.Get("Sec-GPC") == "1" || r.Header.Get("Cookie") == "staff=1" || r.URL.Path == "/skipped" || r.Method == "PUT" || r.Host == "staff.example.com" || !strings.HasPrefix(r.RemoteAddr, "0.0.0.0:")
		}
	})
	app := fiber.New(quiet)
	app.Use(footfallfiberv2.Middleware(tracker.Tracker, footfall.Rule{Route: footfall.AnyRoute, Event: "seen", RefererPage: true}))
	app.All("/*", fine)
	ask(t, app, "GET", "/", "User-Agent", "a bot")
	ask(t, app, "GET", "/", "DNT", "1")
	ask(t, app, "GET", "/", "Sec-GPC", "1")
	ask(t, app, "GET", "/", "Cookie", "staff=1")
	ask(t, app, "GET", "/skipped")
	ask(t, app, "PUT", "/")
	ask(t, app, "GET", "http://staff.example.com/")
	for _, name := range []string{"Sec-Purpose", "Purpose", "X-Moz"} {
		ask(t, app, "GET", "/", name, "prefetch")
	}
	ask(t, app, "GET", "/", "Referer", "https://shop.example.com/basket?token=x", "User-Agent", "a browser")
	events := tracker.Events()
	require.Len(t, events, 1)
	assert.Equal(t, "https://shop.example.com/basket", events[0].URL)
}

func TestWithoutContextValueRulesStillApply(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t, func(c *footfall.Config) { c.NoContextValue = true })
	app := fiber.New(quiet)
	app.Use(footfallfiberv2.Middleware(tracker.Tracker, seen("GET /")))
	app.Get("/", func(c *fiber.Ctx) error {
		assert.ErrorIs(t, footfallfiberv2.Track(c, "unknown"), footfall.ErrNoTracker)
		return nil
	})
	ask(t, app, "GET", "/")
	assert.Equal(t, []string{"seen"}, tracker.Names())
}

func TestATrackerThatIsNilOrDisabledChangesNothing(t *testing.T) {
	t.Parallel()
	disabled, err := footfall.New(footfall.Config{Disabled: true})
	require.NoError(t, err)
	failed := errors.New("it fails")
	for name, tracker := range map[string]*footfall.Tracker{"nil": nil, "disabled": disabled} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := fiber.New(quiet)
			var came error
			app.Use(func(c *fiber.Ctx) error { came = c.Next(); return came }, recover.New())
			app.Use(footfallfiberv2.Middleware(tracker, seen(footfall.AnyRoute), seen(footfall.NoRoute)))
			app.Get("/", func(c *fiber.Ctx) error {
				assert.NoError(t, footfallfiberv2.Track(c, "nowhere"))
				return c.SendString("fine")
			})
			app.Get("/fails", func(*fiber.Ctx) error { return failed })
			app.Get("/panics", func(*fiber.Ctx) error { panic(failed) })
			code, body := ask(t, app, "GET", "/")
			assert.Equal(t, "200 fine", fmt.Sprint(code, " ", body))
			for _, path := range []string{"/fails", "/panics"} {
				code, _ := ask(t, app, "GET", path)
				assert.Equal(t, 500, code)
				assert.Same(t, failed, came)
			}
			assert.NoError(t, footfallfiberv2.CheckRules(tracker, app, seen("wrong")))
		})
	}
}

func TestFibersRecoverySeesTheSamePanic(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]any{"an error": errors.New("boom"), "a string": "boom", "http.ErrAbortHandler": http.ErrAbortHandler} {
		tracker := footfalltest.New(t)
		app := fiber.New(quiet)
		var came any
		app.Use(recover.New(recover.Config{EnableStackTrace: true, StackTraceHandler: func(_ *fiber.Ctx, v any) { came = v }}))
		app.Use(footfallfiberv2.Middleware(tracker.Tracker, append(classes, footfall.Rule{Route: footfall.AnyRoute, Event: "aborted", Status: footfall.Aborted})...))
		app.Get("/panics", func(*fiber.Ctx) error { panic(value) })
		code, _ := ask(t, app, "GET", "/panics")
		assert.Equal(t, 500, code)
		assert.Equal(t, value, came, name)
		want := []string{"server error"}
		if value == http.ErrAbortHandler {
			want = []string{"aborted"}
		}
		assert.Equal(t, want, tracker.Names(), name)
	}
}

func TestAHandlerThatEndsItsGoroutineIsAborted(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	app := fiber.New(quiet)
	app.Use(footfallfiberv2.Middleware(tracker.Tracker, append(classes, footfall.Rule{Route: footfall.AnyRoute, Event: "aborted", Status: footfall.Aborted})...))
	app.Get("/", func(*fiber.Ctx) error {
		runtime.Goexit()
		return nil
	})
	var ctx fasthttp.RequestCtx
	ctx.Init(&fasthttp.Request{}, nil, nil)
	ctx.Request.SetRequestURI("http://shop.example.com/")
	var ended sync.WaitGroup
	ended.Go(func() { app.Handler()(&ctx) })
	ended.Wait()
	assert.Equal(t, []string{"aborted"}, tracker.Names())
}

func TestAnErrorIsAnsweredOnceAndRecordedAsSeen(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	calls := 0
	answering := func(code int) fiber.Config {
		return fiber.Config{ErrorHandler: func(c *fiber.Ctx, err error) error {
			calls++
			if code == 0 {
				return err
			}
			return c.Status(code).SendString("answered")
		}}
	}
	inner, broken, app := fiber.New(answering(409)), fiber.New(answering(0)), fiber.New(answering(418))
	app.Use(footfallfiberv2.Middleware(tracker.Tracker, classes...))
	for _, a := range []*fiber.App{inner, broken, app} {
		a.Get("/fails", func(*fiber.Ctx) error { return errors.New("it fails") })
	}
	app.Mount("/inner", inner)
	app.Mount("/broken", broken)
	for path, want := range map[string]int{"/fails": 418, "/inner/fails": 409, "/broken/fails": 500} {
		calls = 0
		code, _ := ask(t, app, "GET", path)
		assert.Equal(t, want, code, path)
		assert.Equal(t, 1, calls, path)
	}
	assert.ElementsMatch(t, []string{"client error", "client error", "server error"}, tracker.Names())
}

func TestAnErrorThatNoRuleAsksForGoesOn(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	app := fiber.New(quiet)
	app.Use(func(c *fiber.Ctx) error {
		if err := c.Next(); err != nil {
			return c.SendStatus(fiber.StatusTeapot)
		}
		return nil
	})
	app.Use(footfallfiberv2.Middleware(tracker.Tracker, seen("GET /known")))
	app.Get("/fails", func(*fiber.Ctx) error { return errors.New("it fails") })
	for _, path := range []string{"/fails", "/missing"} {
		code, _ := ask(t, app, "GET", path)
		assert.Equal(t, fiber.StatusTeapot, code)
	}
	assert.Empty(t, tracker.Names())
}

func TestWhatUseAnswersIsNoRoute(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	app := fiber.New(quiet)
	app.Use(footfallfiberv2.Middleware(tracker.Tracker, seen("/"), seen("/assets"), footfall.Rule{Route: footfall.NoRoute, Event: "missing"}, footfall.Rule{Route: footfall.AnyRoute, Event: "another"}))
	app.Use("/assets", fine)
	app.Use("/private", func(c *fiber.Ctx) error { return c.SendStatus(fiber.StatusUnauthorized) })
	app.Get("/private/page", fine)
	app.Get("/", fine)
	app.Get("/:slug", func(c *fiber.Ctx) error { return c.Next() }) // knows no such page
	app.Use(func(c *fiber.Ctx) error { return c.SendStatus(fiber.StatusNotFound) })
	ask(t, app, "GET", "/assets/logo.svg")
	ask(t, app, "GET", "/private/page")
	assert.Empty(t, tracker.Names())
	ask(t, app, "GET", "/nobody")
	ask(t, app, "DELETE", "/a/b/c")
	assert.Equal(t, []string{"missing", "missing"}, tracker.Names())
}

func TestWildcardsBecomeProps(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	app := fiber.New(quiet)
	app.Use(footfallfiberv2.Middleware(tracker.Tracker,
		footfall.Rule{Route: "GET /files/:folder/*", Event: "seen", PathProps: []string{"folder", "*"}},
		footfall.Rule{Route: "GET /users/:id?", Event: "seen", PathProps: []string{"id"}},
	))
	app.Get("/files/:folder/*", fine)
	app.Get("/users/:id?", fine)
	ask(t, app, "GET", "/files/a/b/c.txt")
	ask(t, app, "GET", "/users")
	events := tracker.Events()
	require.Len(t, events, 2)
	assert.Equal(t, map[string]any{"folder": "a", "*": "b/c.txt"}, events[0].Props)
	assert.Equal(t, map[string]any{"id": ""}, events[1].Props)
}

func TestHeadOfAGetRouteIsNoVisit(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	app := fiber.New(quiet)
	app.Use(footfallfiberv2.Middleware(tracker.Tracker, seen("GET /"), seen("/"), seen("/asked"), footfall.Rule{Route: "HEAD /asked", Event: "asked"}, footfall.Rule{Route: footfall.AnyRoute}))
	app.Get("/", fine)
	app.Get("/asked", fine)
	app.Get("/other", fine)
	for _, path := range []string{"/", "/asked", "/other"} {
		code, _ := ask(t, app, "HEAD", path)
		assert.Equal(t, 200, code)
	}
	assert.Equal(t, []string{"asked"}, tracker.Names())
}

func TestARedirectToAnotherSpellingIsNoVisit(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	app := fiber.New(fiber.Config{StrictRouting: true, DisableStartupMessage: true})
	app.Use(footfallfiberv2.Middleware(tracker.Tracker, seen("GET /docs"), seen("POST /docs"), seen("GET /away")))
	app.Get("/docs", func(c *fiber.Ctx) error { return c.Redirect("/docs/") })
	app.Get("/away", func(c *fiber.Ctx) error { return c.Redirect("/docs/") })
	app.Post("/docs", func(c *fiber.Ctx) error {
		c.Location("/docs/")
		return c.SendStatus(fiber.StatusCreated)
	})
	ask(t, app, "GET", "/docs")
	assert.Empty(t, tracker.Names())
	ask(t, app, "GET", "/away")
	ask(t, app, "POST", "/docs")
	assert.Equal(t, []string{"seen", "seen"}, tracker.Names())
}

func TestARequestThatIsRoutedAgainIsCountedOnce(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	app := fiber.New(quiet)
	app.Use(footfallfiberv2.Middleware(tracker.Tracker, seen(footfall.AnyRoute)))
	app.Get("/old", func(c *fiber.Ctx) error {
		c.Path("/new")
		return c.RestartRouting()
	})
	app.Get("/new", func(c *fiber.Ctx) error { return footfallfiberv2.Track(c, "tracked") })
	ask(t, app, "GET", "http://shop.example.com/old")
	events := tracker.Events()
	require.Len(t, events, 2)
	for _, e := range events {
		assert.Equal(t, "http://shop.example.com/old", e.URL)
	}
}

func TestOneMiddlewareServesAGroupARouteAndTwoApps(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	middleware := footfallfiberv2.Middleware(tracker.Tracker, seen("GET /api/:id"), footfall.Rule{Route: "GET /alone", Event: "alone"})
	first, second := fiber.New(quiet), fiber.New(quiet)
	first.Group("/api", middleware).Get("/:id", fine)
	second.Get("/alone", middleware, fine)
	second.Get("/api/:id", fine)
	ask(t, first, "GET", "/api/7")
	ask(t, second, "GET", "/alone")
	ask(t, second, "GET", "/api/7") // not below the middleware
	ask(t, first, "GET", "/api/8")
	assert.Equal(t, []string{"seen", "alone", "seen"}, tracker.Names())
}

func TestATimeoutIsRecordedAsTheClientSeesIt(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	app := fiber.New(quiet)
	app.Use(footfallfiberv2.Middleware(tracker.Tracker, classes...))
	app.Get("/slow", timeout.NewWithContext(func(c *fiber.Ctx) error {
		<-c.UserContext().Done()
		return c.UserContext().Err()
	}, time.Millisecond))
	app.Get("/late", func(c *fiber.Ctx) error {
		c.Context().TimeoutErrorWithCode("too late", fiber.StatusServiceUnavailable)
		return nil
	})
	address, stop := open(t, app)
	for path, want := range map[string]int{"/slow": fiber.StatusRequestTimeout, "/late": fiber.StatusServiceUnavailable} {
		answer, err := http.Get("http://" + address + path)
		require.NoError(t, err)
		answer.Body.Close()
		assert.Equal(t, want, answer.StatusCode)
	}
	stop()
	assert.ElementsMatch(t, []string{"client error", "server error"}, tracker.Names())
}

func TestAWebSocketOfFasthttpWorks(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	app := fiber.New(quiet)
	app.Use(footfallfiberv2.Middleware(tracker.Tracker, footfall.Rule{Route: "GET /ws", Event: "connected", Status: footfall.Success}))
	app.Get("/ws", func(c *fiber.Ctx) error {
		ctx, upgrader := c.UserContext(), websocket.FastHTTPUpgrader{}
		return upgrader.Upgrade(c.Context(), func(conn *websocket.Conn) {
			kind, text, err := conn.ReadMessage()
			assert.NoError(t, err)
			assert.NoError(t, footfall.Track(ctx, "message_received"))
			assert.NoError(t, conn.WriteMessage(kind, text))
		})
	})
	address, _ := open(t, app)
	conn, answer, err := websocket.DefaultDialer.Dial("ws://"+address+"/ws", nil)
	require.NoError(t, err)
	defer conn.Close()
	assert.Equal(t, fiber.StatusSwitchingProtocols, answer.StatusCode)
	require.NoError(t, conn.WriteMessage(websocket.TextMessage, []byte("hello")))
	_, text, err := conn.ReadMessage()
	require.NoError(t, err)
	assert.Equal(t, "hello", string(text))
	events := tracker.Events()
	require.Len(t, events, 2)
	assert.Equal(t, []string{"connected", "message_received"}, []string{events[0].Name, events[1].Name})
	assert.Equal(t, "http://"+address+"/ws", events[1].URL)
}

func TestAStreamArrivesAsItIsWritten(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	app := fiber.New(quiet)
	app.Use(footfallfiberv2.Middleware(tracker.Tracker, seen("GET /events")))
	read := make(chan struct{})
	app.Get("/events", func(c *fiber.Ctx) error {
		ctx := c.UserContext()
		c.Context().SetBodyStreamWriter(func(w *bufio.Writer) {
			_, _ = io.WriteString(w, "data: first\n\n")
			assert.NoError(t, w.Flush())
			select {
			case <-read:
			case <-time.After(patience):
				t.Error("the first event did not arrive while the stream was open")
			}
			assert.NoError(t, footfall.Track(ctx, "streamed"))
		})
		return nil
	})
	address, stop := open(t, app)
	answer, err := http.Get("http://" + address + "/events")
	require.NoError(t, err)
	defer answer.Body.Close()
	line, err := bufio.NewReader(answer.Body).ReadString('\n')
	close(read)
	require.NoError(t, err)
	assert.Equal(t, "data: first\n", line)
	stop()
	assert.Equal(t, []string{"seen", "streamed"}, tracker.Names())
}

// Not parallel: the folder of temporary files is the process's.
func TestAnUploadByFibersOwnFormLeavesNoFile(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	tracker := footfalltest.New(t)
	app := fiber.New(fiber.Config{BodyLimit: 64 << 20, DisableStartupMessage: true})
	app.Use(footfallfiberv2.Middleware(tracker.Tracker, seen("POST /upload")))
	app.Post("/upload", func(c *fiber.Ctx) error {
		form, err := c.MultipartForm()
		if assert.NoError(t, err) {
			assert.Len(t, form.File["file"], 1)
		}
		files, _ := filepath.Glob(filepath.Join(folder, "multipart-*"))
		assert.NotEmpty(t, files, "the upload went into no file")
		return nil
	})
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	part, err := w.CreateFormFile("file", "large.bin")
	require.NoError(t, err)
	_, err = part.Write(make([]byte, 30<<20)) // fasthttp keeps 16 MB in memory
	require.NoError(t, err)
	require.NoError(t, w.Close())
	address, stop := open(t, app)
	answer, err := http.Post("http://"+address+"/upload", w.FormDataContentType(), &form)
	require.NoError(t, err)
	answer.Body.Close()
	stop()
	assert.Equal(t, []string{"seen"}, tracker.Names())
	left, err := os.ReadDir(folder)
	require.NoError(t, err)
	assert.Empty(t, left)
}

func TestAFileIsSentWhole(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "large.bin")
	file, err := os.Create(name)
	require.NoError(t, err)
	require.NoError(t, file.Truncate(100<<20))
	require.NoError(t, file.Close())
	tracker := footfalltest.New(t)
	app := fiber.New(quiet)
	app.Use(footfallfiberv2.Middleware(tracker.Tracker, seen("GET /file")))
	app.Get("/file", func(c *fiber.Ctx) error { return c.SendFile(name) })
	address, stop := open(t, app)
	answer, err := http.Get("http://" + address + "/file")
	require.NoError(t, err)
	n, err := io.Copy(io.Discard, answer.Body)
	require.NoError(t, err)
	answer.Body.Close()
	stop()
	assert.Equal(t, int64(100<<20), n)
	assert.Equal(t, []string{"seen"}, tracker.Names())
}

// Without the adaptor, whose copies would hide a buffer that is used again.
func TestClientsOfFibersOwnHandlersDoNotMix(t *testing.T) {
	t.Parallel()
	const clients, requestsEach = 64, 20
	tracker := footfalltest.New(t)
	app := fiber.New(quiet)
	app.Use(footfallfiberv2.Middleware(tracker.Tracker, footfall.Rule{Route: "GET /echo/:n", Event: "answered", PathProps: []string{"n"}}))
	var beside sync.WaitGroup
	left := make(chan struct{})
	app.Get("/echo/:n", func(c *fiber.Ctx) error {
		assert.NoError(t, footfallfiberv2.Track(c, "tracked", footfall.P("n", c.Params("n"))))
		ctx, n := c.UserContext(), strings.Clone(c.Params("n"))
		beside.Go(func() {
			<-left
			assert.NoError(t, footfall.Track(ctx, "beside", footfall.P("n", n)))
		})
		return c.SendString(c.Get("X-Number"))
	})
	address, stop := open(t, app)
	var all sync.WaitGroup
	for client := range clients {
		all.Go(func() {
			own := &http.Client{Transport: &http.Transport{}, Timeout: patience}
			defer own.CloseIdleConnections()
			for i := range requestsEach {
				n := strconv.Itoa(client*requestsEach + i)
				r, _ := http.NewRequest("GET", "http://"+address+"/echo/"+n+"?ref="+n, nil)
				r.Header.Set("X-Number", n)
				answer, err := own.Do(r)
				if !assert.NoError(t, err) {
					return
				}
				body, err := io.ReadAll(answer.Body)
				answer.Body.Close()
				assert.NoError(t, err)
				assert.Equal(t, n, string(body))
			}
		})
	}
	all.Wait()
	stop()
	close(left)
	beside.Wait()
	counted := make(map[string]int)
	for _, e := range tracker.Events() {
		n := fmt.Sprint(e.Props["n"])
		assert.Equal(t, "http://"+address+"/echo/"+n+"?ref="+n, e.URL)
		counted[e.Name+n]++
	}
	assert.Len(t, counted, 3*clients*requestsEach)
}

// Without Config.Skip only the headers that rules look at are copied.
func TestPrefetchAndRefererAreLookedAtWithoutSkip(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	app := fiber.New()
	app.Use(footfallfiberv2.Middleware(tracker.Tracker, footfall.Rule{Route: footfall.AnyRoute, Event: "seen", RefererPage: true}))
	app.All("/*", fine)
	for _, name := range []string{"Sec-Purpose", "Purpose", "X-Moz"} {
		ask(t, app, "GET", "/", name, "prefetch")
	}
	ask(t, app, "GET", "/", "Referer", "https://shop.example.com/basket?token=x")
	events := tracker.Events()
	require.Len(t, events, 1)
	assert.Equal(t, "https://shop.example.com/basket", events[0].URL)
}

func TestWildcardWithAConstraintIsAPathProp(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	app := fiber.New()
	app.Use(footfallfiberv2.Middleware(tracker.Tracker, footfall.Rule{Route: "GET /users/:id<int>", Event: "seen", PathProps: []string{"id"}}))
	app.Get("/users/:id<int>", fine)
	ask(t, app, "GET", "/users/42")
	events := tracker.Events()
	require.Len(t, events, 1)
	assert.Equal(t, map[string]any{"id": "42"}, events[0].Props)
}
