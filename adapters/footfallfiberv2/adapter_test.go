package footfallfiberv2_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/adaptor"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/adaptertest"
	"github.com/footfall-dev/footfall/adapters/footfallfiberv2"
	"github.com/footfall-dev/footfall/footfalltest"
)

// wired is an app with the host's recovery and the middleware, but for a tracker
// that is nil.
func wired(app footfalltest.App) *fiber.App {
	f := fiber.New(fiber.Config{BodyLimit: 64 << 20, DisableStartupMessage: true})
	f.Use(recovering(app.Recovered))
	if app.Tracker != nil {
		f.Use(footfallfiberv2.Middleware(app.Tracker, app.Rules...))
	}
	return f
}

// recovering is the host's recovery.
func recovering(recovered func(any)) fiber.Handler {
	return func(c *fiber.Ctx) (err error) {
		defer func() {
			switch v := recover(); v {
			case nil:
			case http.ErrAbortHandler:
				recovered(v)
				err = c.Context().Conn().Close()
			default:
				recovered(v)
				err = fiber.ErrInternalServerError
			}
		}()
		return c.Next()
	}
}

// mounted is a handler of net/http below Fiber's adaptor, with the context that
// handlers of Fiber have. A panic goes past the adaptor, which in newer versions of
// fasthttp makes another of it.
func mounted(h http.Handler) fiber.Handler {
	return func(c *fiber.Ctx) error {
		panicked := make(chan any, 1) // newer versions run the handler in a goroutine
		err := adaptor.HTTPHandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			defer func() {
				if v := recover(); v != nil {
					panicked <- v
				}
			}()
			h.ServeHTTP(&writer{ResponseWriter: w, Flusher: w.(http.Flusher)}, r.WithContext(c.UserContext()))
		})(c)
		select {
		case v := <-panicked:
			panic(v)
		default:
			return err
		}
	}
}

// writer does what the adaptor's leaves out: before the connection is handed over it
// sends a 101.
type writer struct {
	http.ResponseWriter
	http.Flusher
	status int
}

func (w *writer) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

func (w *writer) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, both, err := w.ResponseWriter.(http.Hijacker).Hijack()
	if err == nil && w.status == http.StatusSwitchingProtocols {
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\n")
		_ = w.Header().Write(conn)
		_, _ = io.WriteString(conn, "\r\n")
	}
	return conn, both, err
}

// serve serves the app until stop is called.
func serve(tb testing.TB, app *fiber.App, l net.Listener) (stop func()) {
	tb.Helper()
	served := make(chan error, 1)
	go func() { served <- app.Listener(l) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		assert.NoError(tb, app.ShutdownWithTimeout(patience))
		assert.NoError(tb, <-served)
	}
	tb.Cleanup(stop)
	return stop
}

// nested is a way to compose routers; add registers the handler.
func nested(name, method, path, route string, add func(app *fiber.App, handler fiber.Handler)) footfalltest.Nested {
	return footfalltest.Nested{
		Name: name, Method: method, Path: path, Route: route,
		Serve: func(tb testing.TB, app footfalltest.App, l net.Listener) func() {
			f := wired(app)
			add(f, mounted(app.Routes[0].Handler))
			return serve(tb, f, l)
		},
	}
}

var composed = []footfalltest.Nested{
	nested("a group", "GET", "/api/users/7", "GET /api/users/:id", func(app *fiber.App, h fiber.Handler) {
		app.Group("/api").Get("/users/:id", h)
	}),
	nested("a group in a group, with middlewares", "POST", "/api/v1/users", "POST /api/v1/users", func(app *fiber.App, h fiber.Handler) {
		app.Group("/api", next).Group("/v1", next).Post("/users", next, h)
	}),
	nested("Route", "GET", "/api/users/7", "GET /api/users/:id", func(app *fiber.App, h fiber.Handler) {
		app.Route("/api", func(r fiber.Router) { r.Get("/users/:id", h) })
	}),
	nested("a mounted app", "GET", "/api/users/7", "GET /api/users/:id", func(app *fiber.App, h fiber.Handler) {
		inner := fiber.New()
		inner.Use(next)
		inner.Get("/users/:id", h)
		app.Mount("/api", inner)
	}),
	nested("an app in an app in a group, mounted twice", "GET", "/b/api/v1/users/7", "GET /b/api/v1/users/:id", func(app *fiber.App, h fiber.Handler) {
		innermost, inner := fiber.New(), fiber.New()
		innermost.Get("/users/:id", h)
		inner.Mount("/v1", innermost)
		app.Group("/a").Mount("/api", inner)
		app.Group("/b").Mount("/api", inner)
	}),
	nested("an app mounted in capitals", "GET", "/API/Users", "GET /api/Users", func(app *fiber.App, h fiber.Handler) {
		inner := fiber.New()
		inner.Get("/Users", h)
		app.Mount("/API", inner)
	}),
	nested("a middleware and a route of one path", "GET", "/api", "GET /api", func(app *fiber.App, h fiber.Handler) {
		app.Use("/api", next)
		app.Get("/api", h)
	}),
	nested("All", "PATCH", "/users/7", "/users/:id", func(app *fiber.App, h fiber.Handler) { app.All("/users/:id", h) }),
	nested("a wildcard for the rest", "GET", "/files/a/b", "GET /files/*", func(app *fiber.App, h fiber.Handler) { app.Get("/files/*", h) }),
	nested("an optional parameter that is absent", "GET", "/users", "GET /users/:id?", func(app *fiber.App, h fiber.Handler) { app.Get("/users/:id?", h) }),
	nested("another spelling of the path", "GET", "/API/Users/", "GET /api/users", func(app *fiber.App, h fiber.Handler) { app.Get("/api/users", h) }),
	nested("a route that the one before it passed on to", "GET", "/users/me", "GET /users/me", func(app *fiber.App, h fiber.Handler) {
		app.Get("/users/:id", next)
		app.Get("/users/me", h)
	}),
	nested("a path that a middleware rewrote", "GET", "/old/7?x=1", "GET /new/:id", func(app *fiber.App, h fiber.Handler) {
		app.Use("/old", func(c *fiber.Ctx) error {
			c.Path("/new/7")
			return c.RestartRouting()
		})
		app.Get("/new/:id", h)
	}),
}

// next is a middleware that does nothing.
func next(c *fiber.Ctx) error { return c.Next() }

// impossible is said in README.md in the same words.
var impossible = map[string]string{
	"an upload leaves no temporary file behind":       "Fiber's adaptor does not remove the files of a net/http form, with the middleware or without; Fiber's own forms leave none.",
	"server-sent events arrive when they are written": "Fiber's adaptor for net/http sends nothing before the handler has returned; a stream of fasthttp's own arrives as it is written.",
	"103 and then 404 is recorded as 404":             "fasthttp, of the version that Fiber v2 is built on, sends no 1xx.",
}

func TestMiddlewareKeepsTheSuite(t *testing.T) {
	adaptertest.Run(t, footfalltest.Subject{
		Pattern: adaptertest.Replace(":"), Nested: composed, Impossible: impossible,
		Serve: func(tb testing.TB, app footfalltest.App, l net.Listener) func() {
			f := wired(app)
			for _, r := range app.Routes {
				handler := func(*fiber.Ctx) error { return fiber.NewError(r.Fail, "it fails") }
				if r.Fail == 0 {
					handler = mounted(r.Handler)
				}
				f.Add(r.Method, adaptertest.Replace(":")(r.Pattern), handler)
			}
			return serve(tb, f, l)
		},
	})
}

const plain = "POST /checkout/7 HTTP/1.1\r\nHost: shop.example.com\r\n"

// measure returns a request sent to a bare app, and to one with a rule, its event and
// the context value.
func measure(tb testing.TB, head string) (bare, wrapped func()) {
	tb.Helper()
	requests := func(handlers ...any) func() {
		app := fiber.New()
		for _, h := range handlers {
			app.Use(h)
		}
		app.Post("/checkout/:id", func(*fiber.Ctx) error { return nil })
		handler := app.Handler()
		var ctx fasthttp.RequestCtx
		ctx.Init(&fasthttp.Request{}, nil, nil)
		require.NoError(tb, ctx.Request.Header.Read(bufio.NewReader(strings.NewReader(head+"\r\n"))))
		return func() {
			ctx.ResetUserValues()
			ctx.Request.SetRequestURI("/checkout/7") // to be parsed anew
			handler(&ctx)
		}
	}
	return requests(), requests(footfallfiberv2.Middleware(adaptertest.Tracker(tb), footfall.Rule{
		Route: "POST /checkout/:id", Event: "checkout_completed", Status: footfall.Success,
	}))
}

func TestMiddlewareAllocatesAtMostFive(t *testing.T) {
	bare, wrapped := measure(t, plain)
	adaptertest.Allocations(t, bare, wrapped, 5)
}

func BenchmarkFiberV2(b *testing.B) {
	bare, wrapped := measure(b, plain)
	adaptertest.Benchmark(b, bare, wrapped)
}

// A browser sends headers, which Config.Skip may ask for.
func BenchmarkFiberV2ForABrowser(b *testing.B) {
	bare, wrapped := measure(b, plain+browser)
	adaptertest.Benchmark(b, bare, wrapped)
}

const browser = "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0\r\n" +
	"Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n" +
	"Accept-Language: en-GB,en;q=0.5\r\nAccept-Encoding: gzip, deflate, br, zstd\r\n" +
	"Referer: https://shop.example.com/basket\r\nCookie: session=1a2b3c4d5e6f; theme=dark\r\n" +
	"Sec-Fetch-Dest: document\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Site: same-origin\r\n" +
	"Upgrade-Insecure-Requests: 1\r\nPriority: u=0, i\r\n"

func TestCheckRulesKnowsWhatIsRegistered(t *testing.T) {
	t.Parallel()
	inner, app := fiber.New(), fiber.New()
	inner.Get("/orders/:id", next)
	app.Use("/only/used", next)
	app.Mount("/shop", inner)
	app.Group("/api").Post("/users", next)
	tracker := footfalltest.New(t).Tracker
	known := []footfall.Rule{
		{Route: "GET /shop/orders/:id"}, {Route: "HEAD /shop/orders/:id"}, {Route: "POST /api/users"}, {Route: "/api/users"},
		{Route: footfall.AnyRoute}, {Route: footfall.NoRoute},
	}
	require.NoError(t, footfallfiberv2.CheckRules(tracker, app, known...))
	for _, route := range []string{"GET /orders/:id", "GET /api/users", "GET /only/used", "GET /shop", "GET /"} {
		err := footfallfiberv2.CheckRules(tracker, app, append(known, footfall.Rule{Route: route})...)
		require.ErrorContains(t, err, `Rule{"`+route+`"}.Route: not registered`)
	}
	require.NoError(t, footfallfiberv2.CheckRules(nil, app, footfall.Rule{Route: "GET /unknown"}))
}
