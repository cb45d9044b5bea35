package footfallfiber_test

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fasthttp/websocket"
	"github.com/gofiber/fiber/v3"
	"github.com/gofiber/fiber/v3/middleware/adaptor"
	"github.com/gofiber/fiber/v3/middleware/recover"
	"github.com/gofiber/fiber/v3/middleware/timeout"
	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/adaptertest"
	"github.com/footfall-dev/footfall/adapters/adaptertest/fibertest"
	"github.com/footfall-dev/footfall/adapters/footfallfiber"
)

// handlers are the arguments of fiber's functions for routes.
func handlers(hs fibertest.Handlers[fiber.Ctx]) (args []any) {
	for _, h := range hs {
		args = append(args, h)
	}
	return args
}

var subject = fibertest.Subject[fiber.Ctx, fiber.Router]{
	Middleware: footfallfiber.Middleware,
	Track:      footfallfiber.Track,
	CheckRules: func(tracker *footfall.Tracker, app fiber.Router, rules ...footfall.Rule) error {
		return footfallfiber.CheckRules(tracker, app.(*fiber.App), rules...)
	},

	New: func(c fibertest.Config[fiber.Ctx]) fiber.Router {
		return fiber.New(fiber.Config{StrictRouting: c.Strict, BodyLimit: c.BodyLimit, ErrorHandler: c.OnError})
	},
	Add: func(r fiber.Router, method, path string, hs fibertest.Handlers[fiber.Ctx]) {
		all := handlers(hs)
		if method == "" {
			r.All(path, all[0], all[1:]...)
			return
		}
		r.Add([]string{method}, path, all[0], all[1:]...)
	},
	Group: func(r fiber.Router, prefix string, hs fibertest.Handlers[fiber.Ctx]) fiber.Router {
		return r.Group(prefix, handlers(hs)...)
	},
	Mount: func(r fiber.Router, prefix string, app fiber.Router) { r.Use(prefix, app) },
	Listen: func(app fiber.Router, l net.Listener) error {
		return app.(*fiber.App).Listener(l, fiber.ListenConfig{DisableStartupMessage: true})
	},
	Shutdown: func(app fiber.Router, most time.Duration) error { return app.(*fiber.App).ShutdownWithTimeout(most) },
	Serve: func(ctx context.Context, tracker *footfall.Tracker, app fiber.Router, addr string) error {
		return footfallfiber.Run(ctx, tracker, app.(*fiber.App), addr, fiber.ListenConfig{DisableStartupMessage: true})
	},
	OnListen: func(app fiber.Router, do func()) {
		app.(*fiber.App).Hooks().OnListen(func(fiber.ListenData) error { do(); return nil })
	},
	OnShutdown: func(app fiber.Router, do func()) {
		app.(*fiber.App).Hooks().OnPreShutdown(func() error { do(); return nil })
	},
	Requests: requests,

	Context:      fiber.Ctx.Context,
	Continue:     fiber.Ctx.SetContext,
	SetHost:      func(c fiber.Ctx, host string) { c.Request().SetHost(host) },
	SetStatus:    func(c fiber.Ctx, status int) { c.Status(status) },
	Error:        func(status int) error { return fiber.NewError(status, "it fails") },
	DefaultError: fiber.DefaultErrorHandler,
	Break:        func(c fiber.Ctx) error { return c.RequestCtx().Conn().Close() },
	SendFile:     func(c fiber.Ctx, name string) error { return c.SendFile(name) },
	Stream:       func(c fiber.Ctx, write func(*bufio.Writer)) { c.RequestCtx().SetBodyStreamWriter(write) },
	TooLate:      func(c fiber.Ctx, status int) { c.RequestCtx().TimeoutErrorWithCode("too late", status) },
	Upgrade: func(c fiber.Ctx, talk func(fibertest.Conn)) error {
		upgrader := websocket.FastHTTPUpgrader{}
		return upgrader.Upgrade(c.RequestCtx(), func(conn *websocket.Conn) { talk(conn) })
	},
	Recover: func() func(fiber.Ctx) error { return recover.New() },
	Timeout: func(ended <-chan struct{}) func(fiber.Ctx) error {
		return timeout.New(func(c fiber.Ctx) error {
			for { // it goes on, and is not disturbed
				_ = c.GetReqHeaders()
				select {
				case <-ended:
					return nil
				default:
				}
			}
		}, timeout.Config{Timeout: time.Millisecond})
	},
	Adapt: func(h http.HandlerFunc) func(fiber.Ctx) error { return adaptor.HTTPHandlerFunc(h) },
	Raw: func(c fiber.Ctx) fibertest.Raw {
		ctx := c.RequestCtx()
		return fibertest.Raw{SetStatus: ctx.SetStatusCode, EarlyHints: func(links []string) {
			for _, link := range links {
				ctx.Response.Header.Add("Link", link)
			}
			_ = ctx.EarlyHints()
		}}
	},

	Nested: func(app fiber.Router, h func(fiber.Ctx) error) {
		app.RouteChain("/api").RouteChain("/users/:id").All(func(c fiber.Ctx) error { return c.Next() }).Get(h)
	},
}

func requests(tb testing.TB, app fiber.Router, path, head string) func() {
	handler := app.(*fiber.App).Handler()
	var ctx fasthttp.RequestCtx
	ctx.Init(&fasthttp.Request{}, nil, nil)
	require.NoError(tb, ctx.Request.Header.Read(bufio.NewReader(strings.NewReader(head))))
	return func() {
		ctx.ResetUserValues()
		ctx.Request.SetRequestURI(path) // to be parsed anew
		handler(&ctx)
	}
}

// Not parallel: the row about uploads sets an environment variable.
func TestAdapterPassesTheMiddlewareSuite(t *testing.T) { adaptertest.Conform(t, subject.Adapter()) }

func TestAdapterPassesTheFiberSuite(t *testing.T) {
	t.Parallel()
	subject.Run(t)
}

func TestAnUploadByFibersOwnFormLeavesNoFile(t *testing.T) { subject.UploadLeavesNoFile(t) }

func TestMiddlewareAllocatesAtMostFive(t *testing.T) {
	bare, wrapped := subject.Measure(t, false)
	adaptertest.Allocations(t, bare, wrapped, 5)
}

func BenchmarkFiber(b *testing.B) {
	bare, wrapped := subject.Measure(b, false)
	adaptertest.Benchmark(b, bare, wrapped)
}

// A browser sends headers, which Config.Skip may ask for.
func BenchmarkFiberForABrowser(b *testing.B) {
	bare, wrapped := subject.Measure(b, true)
	adaptertest.Benchmark(b, bare, wrapped)
}
