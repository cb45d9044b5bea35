package footfallfiberv2_test

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fasthttp/websocket"
	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/recover"
	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttpadaptor"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/adaptertest"
	"github.com/footfall-dev/footfall/adapters/adaptertest/fibertest"
	"github.com/footfall-dev/footfall/adapters/footfallfiberv2"
)

var subject = fibertest.Subject[*fiber.Ctx, fiber.Router]{
	Middleware: footfallfiberv2.Middleware,
	Track:      footfallfiberv2.Track,
	CheckRules: func(tracker *footfall.Tracker, app fiber.Router, rules ...footfall.Rule) error {
		return footfallfiberv2.CheckRules(tracker, app.(*fiber.App), rules...)
	},

	New: func(c fibertest.Config[*fiber.Ctx]) fiber.Router {
		return fiber.New(fiber.Config{StrictRouting: c.Strict, BodyLimit: c.BodyLimit, ErrorHandler: c.OnError, DisableStartupMessage: true})
	},
	Add: func(r fiber.Router, method, path string, hs fibertest.Handlers[*fiber.Ctx]) {
		switch method {
		case "":
			r.All(path, hs...)
		case fiber.MethodGet:
			r.Get(path, hs...) // for HEAD too
		default:
			r.Add(method, path, hs...)
		}
	},
	Group: func(r fiber.Router, prefix string, hs fibertest.Handlers[*fiber.Ctx]) fiber.Router {
		return r.Group(prefix, hs...)
	},
	Mount:    func(r fiber.Router, prefix string, app fiber.Router) { r.Mount(prefix, app.(*fiber.App)) },
	Listen:   func(app fiber.Router, l net.Listener) error { return app.(*fiber.App).Listener(l) },
	Shutdown: shutdown,
	Serve: func(ctx context.Context, tracker *footfall.Tracker, app fiber.Router, addr string) error {
		return footfallfiberv2.Run(ctx, tracker, app.(*fiber.App), addr)
	},
	OnListen: onListen,
	OnShutdown: func(app fiber.Router, do func()) {
		app.(*fiber.App).Hooks().OnShutdown(func() error { do(); return nil })
	},
	Requests: requests,

	Context:      (*fiber.Ctx).UserContext,
	Continue:     (*fiber.Ctx).SetUserContext,
	SetHost:      func(c *fiber.Ctx, host string) { c.Request().SetHost(host) },
	SetStatus:    func(c *fiber.Ctx, status int) { c.Status(status) },
	Error:        func(status int) error { return fiber.NewError(status, "it fails") },
	DefaultError: fiber.DefaultErrorHandler,
	Break:        func(c *fiber.Ctx) error { return c.Context().Conn().Close() },
	SendFile:     func(c *fiber.Ctx, name string) error { return c.SendFile(name) },
	Stream:       func(c *fiber.Ctx, write func(*bufio.Writer)) { c.Context().SetBodyStreamWriter(write) },
	TooLate:      func(c *fiber.Ctx, status int) { c.Context().TimeoutErrorWithCode("too late", status) },
	Upgrade: func(c *fiber.Ctx, talk func(fibertest.Conn)) error {
		upgrader := websocket.FastHTTPUpgrader{}
		return upgrader.Upgrade(c.Context(), func(conn *websocket.Conn) { talk(conn) })
	},
	Recover: func() func(*fiber.Ctx) error { return recover.New() },
	Timeout: func(<-chan struct{}) func(*fiber.Ctx) error {
		return func(c *fiber.Ctx) error { // like Fiber's timeout.NewWithContext, which is not in v2.40.0
			ctx, cancel := context.WithTimeout(c.UserContext(), time.Millisecond)
			defer cancel()
			c.SetUserContext(ctx)
			<-ctx.Done()
			return fiber.ErrRequestTimeout
		}
	},
	Adapt: func(h http.HandlerFunc) func(*fiber.Ctx) error { // like Fiber's adaptor, which is not in v2.40.0
		handler := fasthttpadaptor.NewFastHTTPHandlerFunc(h)
		return func(c *fiber.Ctx) error {
			handler(c.Context())
			return nil
		}
	},
	Raw: func(*fiber.Ctx) fibertest.Raw { return fibertest.Raw{} },

	Impossible: map[string]string{
		"server-sent events arrive when they are written": "Fiber's adaptor for net/http sends nothing before the handler has returned; a stream of fasthttp's own arrives as it is written.",
		"103 and then 404 is recorded as 404":             "fasthttp, of the version that Fiber v2 is built on, sends no 1xx.",
	},
}

func init() {
	subject.MountKeepsCase = mountKeepsCase()
	if !adaptorHijacks() {
		subject.Impossible["a WebSocket upgrade works"] = "fasthttp's adaptor for net/http hands no connection over before v1.53; Fiber's own upgrade works"
	}
}

func mountKeepsCase() bool {
	inner, app := fiber.New(), fiber.New()
	inner.Get("/users", func(*fiber.Ctx) error { return nil })
	app.Mount("/API", inner)
	app.Handler() // mounted apps hand over their routes
	return slices.ContainsFunc(app.GetRoutes(true), func(r fiber.Route) bool { return r.Path == "/API/users" })
}

// adaptorHijacks reports whether handlers of net/http may take the connection over.
func adaptorHijacks() (ok bool) {
	var ctx fasthttp.RequestCtx
	ctx.Init(&fasthttp.Request{}, nil, nil)
	fasthttpadaptor.NewFastHTTPHandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, ok = w.(http.Hijacker) })(&ctx)
	return ok
}

// shutdown is ShutdownWithTimeout, which is not in v2.40.0.
func shutdown(app fiber.Router, most time.Duration) error {
	ended := make(chan error, 1)
	go func() { ended <- app.(*fiber.App).Shutdown() }()
	select {
	case err := <-ended:
		return err
	case <-time.After(most):
		return context.DeadlineExceeded
	}
}

// onListen adds a hook, whose argument Fiber has in newer versions only.
func onListen(app fiber.Router, do func()) {
	add := reflect.ValueOf(app.(*fiber.App).Hooks().OnListen)
	hook := add.Type().In(0).Elem()
	add.Call([]reflect.Value{reflect.MakeFunc(hook, func([]reflect.Value) []reflect.Value {
		do()
		return []reflect.Value{reflect.Zero(hook.Out(0))}
	})})
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

func BenchmarkFiberV2(b *testing.B) {
	bare, wrapped := subject.Measure(b, false)
	adaptertest.Benchmark(b, bare, wrapped)
}

// A browser sends headers, which Config.Skip may ask for.
func BenchmarkFiberV2ForABrowser(b *testing.B) {
	bare, wrapped := subject.Measure(b, true)
	adaptertest.Benchmark(b, bare, wrapped)
}
