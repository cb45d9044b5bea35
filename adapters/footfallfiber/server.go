package footfallfiber

import (
	"context"
	"time"

	"github.com/gofiber/fiber/v3"

	"github.com/footfall-dev/footfall"
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

// Shutdown implements footfall.Server. Fiber ignores a shutdown before it serves, and serves
// afterwards. So Shutdown waits until Fiber serves, and shuts it down again.
func (s *server) Shutdown(ctx context.Context) error {
	select {
	case <-s.listening:
	case <-s.served:
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := s.app.ShutdownWithContext(ctx); err != nil {
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
			if err := s.app.Server().ShutdownWithContext(ctx); err != nil { // without the app's hooks
				return err
			}
		}
	}
}
