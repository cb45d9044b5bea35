// Package fiberserver shuts down apps of Fiber for the adapters for Fiber v2 and v3.
//
// An adapter may be built with a later version of this package than its own: what is exported
// keeps its name and its meaning.
package fiberserver

import (
	"context"
	"time"
)

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
