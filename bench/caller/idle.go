package caller

import (
	"context"
	"time"

	"github.com/footfall-dev/footfall/bench/post/child"
)

// Idle returns when the process has used almost no CPU time for a moment, so that background
// work is over, or after three seconds. If the CPU time is unknown it waits two milliseconds.
func Idle(ctx context.Context) error {
	const moment = 2 * time.Millisecond
	for range 3 * time.Second / moment {
		before := child.CPU()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(moment):
		}
		if child.CPU()-before < moment/10 {
			return nil
		}
	}
	return nil
}
