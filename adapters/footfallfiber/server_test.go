package footfallfiber_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/gofiber/fiber/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/footfallfiber"
	"github.com/footfall-dev/footfall/footfalltest"
)

// rounds is how often the tests stop an app at about the time when it begins to serve.
const rounds = 50

var silent = fiber.ListenConfig{DisableStartupMessage: true}

func TestServerAnswersAndStopsOnce(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	app := fiber.New()
	app.Use(footfallfiber.Middleware(tracker.Tracker, footfall.Rule{Route: "GET /pricing", Event: "pricing_viewed"}))
	app.Get("/pricing", func(c fiber.Ctx) error { return c.SendString("free") })
	hooks := 0
	app.Hooks().OnPreShutdown(func() error { hooks++; return nil })
	addresses, ended := make(chan string, 1), make(chan error, 1)
	app.Hooks().OnListen(func(at fiber.ListenData) error {
		addresses <- net.JoinHostPort(at.Host, at.Port)
		return nil
	})
	go func() { ended <- tracker.Run(ctx, footfallfiber.Server(app, "127.0.0.1:0", silent)) }()
	answer, err := http.Get("http://" + <-addresses + "/pricing")
	require.NoError(t, err)
	said, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	assert.Equal(t, "free", string(said))
	assert.Equal(t, []string{"pricing_viewed"}, tracker.Names())
	stop()
	require.NoError(t, <-ended)
	assert.Equal(t, 1, hooks)
}

func TestServerStopsAlthoughFiberHasNotBegunToServe(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(*fiber.App, context.CancelFunc){
		"before it listens": func(_ *fiber.App, stop context.CancelFunc) { stop() },
		"before it serves": func(app *fiber.App, stop context.CancelFunc) {
			app.Hooks().OnListen(func(fiber.ListenData) error { stop(); return nil })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var tracker *footfall.Tracker
			for range rounds {
				ctx, stop := context.WithCancel(t.Context())
				app := fiber.New()
				begin(app, stop)
				require.NoError(t, tracker.Run(ctx, footfallfiber.Server(app, "127.0.0.1:0", silent)))
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
	err = tracker.Run(t.Context(), footfallfiber.Server(fiber.New(), taken.Addr().String(), silent))
	assert.ErrorContains(t, err, taken.Addr().String())
}
