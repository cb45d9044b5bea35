package footfallfiberv2

import (
	"context"
	"net"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/footfall-dev/footfall"
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

// Shutdown implements footfall.Server. Fiber ignores a shutdown before it serves, and serves
// afterwards. So Shutdown shuts it down again until it has stopped serving.
func (s *server) Shutdown(ctx context.Context) error {
	select {
	case <-s.listening:
	case <-s.served:
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := before(ctx, s.app.Shutdown); err != nil {
		return err
	}
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for {
		select {
		case <-s.served:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-again.C:
			if err := before(ctx, s.app.Server().Shutdown); err != nil { // without the app's hooks
				return err
			}
		}
	}
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
