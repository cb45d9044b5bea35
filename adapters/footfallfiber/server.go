package footfallfiber

import (
	"context"

	"github.com/gofiber/fiber/v3"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/internal/fiberserver"
)

// Run serves app on the address as app.Listen does, until ctx ends, the process receives SIGINT or
// SIGTERM, or the app fails. Then it stops the app and closes the tracker: see [footfall.Tracker.Run],
// which it calls with [Server].
func Run(ctx context.Context, tracker *footfall.Tracker, app *fiber.App, addr string, config ...fiber.ListenConfig) error {
	return tracker.Run(ctx, Server(app, addr, config...))
}

// Server returns a server for [footfall.Tracker.Run], which serves app on the address as
// app.Listen does. It does not support EnablePrefork.
//
// Fiber cannot close the connections of requests that are under way when Config.ShutdownTimeout
// has ended: they go on until the process ends.
func Server(app *fiber.App, addr string, config ...fiber.ListenConfig) footfall.Server {
	listen := func(listening func()) error {
		app.Hooks().OnListen(func(fiber.ListenData) error { listening(); return nil })
		return app.Listen(addr, config...)
	}
	again := func(ctx context.Context) error { return app.Server().ShutdownWithContext(ctx) }
	return fiberserver.New(listen, app.ShutdownWithContext, again)
}
