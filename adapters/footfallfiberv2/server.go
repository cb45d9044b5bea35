package footfallfiberv2

import (
	"context"
	"net"

	"github.com/gofiber/fiber/v2"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/internal/fiberserver"
)

// Server returns a server for [footfall.Tracker.Run], which serves app on the address as
// app.Listen does. It does not support Prefork.
//
// Fiber cannot close the connections of requests that are under way when Config.ShutdownTimeout
// has ended: they go on until the process ends.
func Server(app *fiber.App, addr string) footfall.Server {
	return &server{app: app, addr: addr, listening: make(chan struct{}), served: make(chan struct{})}
}

type server struct {
	app       *fiber.App
	addr      string
	listening chan struct{} // closed when the app is about to serve
	served    chan struct{} // closed when the app has served
}

// ListenAndServe implements footfall.Server.
func (s *server) ListenAndServe() error {
	defer close(s.served)
	l, err := net.Listen(s.app.Config().Network, s.addr)
	if err != nil {
		return err
	}
	close(s.listening)
	return s.app.Listener(l)
}

// Shutdown implements footfall.Server.
func (s *server) Shutdown(ctx context.Context) error {
	stop := func(ctx context.Context) error { return before(ctx, s.app.Shutdown) }
	again := func(ctx context.Context) error { return before(ctx, s.app.Server().Shutdown) }
	return fiberserver.Shutdown(ctx, s.listening, s.served, stop, again)
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
