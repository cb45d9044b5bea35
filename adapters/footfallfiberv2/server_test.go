package footfallfiberv2_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"reflect"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/footfallfiberv2"
	"github.com/footfall-dev/footfall/footfalltest"
)

// rounds is how often the tests stop an app at about the time when it begins to serve.
const rounds = 50

var silent = fiber.Config{DisableStartupMessage: true}

func TestServerAnswersAndStopsOnce(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	app := fiber.New(silent)
	app.Use(footfallfiberv2.Middleware(tracker.Tracker, footfall.Rule{Route: "GET /pricing", Event: "pricing_viewed"}))
	app.Get("/pricing", func(c *fiber.Ctx) error { return c.SendString("free") })
	hooks := 0
	app.Hooks().OnShutdown(func() error { hooks++; return nil })
	address, ended := freeAddress(t), make(chan error, 1)
	go func() { ended <- tracker.Run(ctx, footfallfiberv2.Server(app, address)) }()
	answer := getWhenServed(t, "http://"+address+"/pricing")
	said, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	assert.Equal(t, "free", string(said))
	assert.Equal(t, []string{"pricing_viewed"}, tracker.Names())
	stop()
	require.NoError(t, <-ended)
	assert.Equal(t, 1, hooks)
}

// freeAddress returns an address on which nothing listens. Fiber v2.40.0 does not say on
// which port it listens.
func freeAddress(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

func getWhenServed(t *testing.T, url string) *http.Response {
	tick, ctx := time.NewTicker(time.Millisecond), t.Context()
	defer tick.Stop()
	for range 15_000 {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		require.NoError(t, err)
		if answer, err := http.DefaultClient.Do(r); err == nil {
			return answer
		}
		<-tick.C
	}
	require.Fail(t, "the app does not serve")
	return nil
}

// onListen adds a hook, whose argument Fiber has in newer versions only.
func onListen(app *fiber.App, do func()) {
	add := reflect.ValueOf(app.Hooks().OnListen)
	hook := add.Type().In(0).Elem()
	add.Call([]reflect.Value{reflect.MakeFunc(hook, func([]reflect.Value) []reflect.Value {
		do()
		return []reflect.Value{reflect.Zero(hook.Out(0))}
	})})
}

func TestServerStopsAlthoughFiberHasNotBegunToServe(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(*fiber.App, context.CancelFunc){
		"before it listens": func(_ *fiber.App, stop context.CancelFunc) { stop() },
		"before it serves": func(app *fiber.App, stop context.CancelFunc) {
			onListen(app, stop)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var tracker *footfall.Tracker
			for range rounds {
				ctx, stop := context.WithCancel(t.Context())
				app := fiber.New(silent)
				begin(app, stop)
				require.NoError(t, tracker.Run(ctx, footfallfiberv2.Server(app, "127.0.0.1:0")))
				stop()
			}
		})
	}
}

func TestServerSaysThatThePortIsInUse(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	var tracker *footfall.Tracker
	err = tracker.Run(t.Context(), footfallfiberv2.Server(fiber.New(silent), taken.Addr().String()))
	assert.ErrorContains(t, err, taken.Addr().String())
}
