// Package fiberserver shuts down apps of Fiber for the adapters for Fiber v2 and v3.
//
// An adapter may be built with a later version of this package than its own: what is exported
// keeps its name and its meaning.
package fiberserver

import (
	"context"
	"time"

	"github.com/footfall-dev/footfall"
)

// New returns a server. listen listens and serves, and calls its argument once when the app is
// about to serve. stop and again are arguments of [Shutdown].
func New(listen func(listening func()) error, stop, again func(context.Context) error) footfall.Server {
	return &server{listen, stop, again, make(chan struct{}), make(chan struct{})}
}

type server struct {
	listen      func(listening func()) error
	stop, again func(context.Context) error
	listening   chan struct{} // closed when the app is about to serve
	served      chan struct{} // closed when the app has served
}

// ListenAndServe implements footfall.Server.
func (s *server) ListenAndServe() error {
	defer close(s.served)
	return s.listen(func() { close(s.listening) })
}

// Shutdown implements footfall.Server.
func (s *server) Shutdown(ctx context.Context) error {
	return Shutdown(ctx, s.listening, s.served, s.stop, s.again)
}

// interval is the time between two calls of again.
const interval = 10 * time.Millisecond

// Shutdown stops an app with stop and waits until served is closed. Fiber does nothing if it is
// told to stop before it serves, and serves then. So Shutdown waits until listening is closed, and
// calls again, which is stop without the app's hooks, until the app has served.
//
// The caller closes listening when the app is about to serve, and served when it has served.
func Shutdown(ctx context.Context, listening, served <-chan struct{}, stop, again func(context.Context) error) error {
	select {
	case <-listening:
	case <-served:
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := stop(ctx); err != nil {
		return err
	}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-served:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
			if err := again(ctx); err != nil {
				return err
			}
		}
	}
}
