package footfallfiber

import (
	"context"

	"github.com/gofiber/fiber/v3"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/internal/fiberserver"
)

// Server returns a server for [footfall.Tracker.Run], which serves app on the address as
// app.Listen does. It does not support EnablePrefork.
//
// Fiber cannot close the connections of requests that are under way when Config.ShutdownTimeout
// has ended: they go on until the process ends.
func Server(app *fiber.App, addr string, config ...fiber.ListenConfig) footfall.Server {
	return &server{app: app, addr: addr, config: config, listening: make(chan struct{}), served: make(chan struct{})}
}

type server struct {
	app       *fiber.App
	addr      string
	config    []fiber.ListenConfig
	listening chan struct{} // closed when the app is about to serve
	served    chan struct{} // closed when the app has served
}

// ListenAndServe implements footfall.Server.
func (s *server) ListenAndServe() error {
	defer close(s.served)
	s.app.Hooks().OnListen(func(fiber.ListenData) error {
		close(s.listening)
		return nil
	})
	return s.app.Listen(s.addr, s.config...)
}

// Shutdown implements footfall.Server.
func (s *server) Shutdown(ctx context.Context) error {
	again := func(ctx context.Context) error { return s.app.Server().ShutdownWithContext(ctx) }
	return fiberserver.Shutdown(ctx, s.listening, s.served, s.app.ShutdownWithContext, again)
}
