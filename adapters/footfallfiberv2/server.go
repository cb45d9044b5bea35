package footfallfiberv2

import (
	"context"
	"net"

	"github.com/gofiber/fiber/v2"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/internal/fiberserver"
)

// Run serves app on the address as app.Listen does, until ctx ends, the process receives SIGINT or
// SIGTERM, or the app fails. Then it stops the app and closes the tracker: see [footfall.Tracker.Run],
// which it calls with [Server].
func Run(ctx context.Context, tracker *footfall.Tracker, app *fiber.App, addr string) error {
	return tracker.Run(ctx, Server(app, addr))
}

// Server returns a server for [footfall.Tracker.Run], which serves app on the address as
// app.Listen does. It does not support Prefork.
//
// Fiber cannot close the connections of requests that are under way when Config.ShutdownTimeout
// has ended: they go on until the process ends.
func Server(app *fiber.App, addr string) footfall.Server {
	listen := func(listening func()) error {
		l, err := net.Listen(app.Config().Network, addr)
		if err != nil {
			return err
		}
		listening()
		return app.Listener(l)
	}
	stop := func(ctx context.Context) error { return before(ctx, app.Shutdown) }
	again := func(ctx context.Context) error { return before(ctx, app.Server().Shutdown) }
	return fiberserver.New(listen, stop, again)
}

// before waits for stop until ctx ends. Fiber has ShutdownWithContext in newer versions only.
func before(ctx context.Context, stop func() error) error {
	stopped := make(chan error, 1)
	go func() { stopped <- stop() }()
	select {
	case err := <-stopped:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
