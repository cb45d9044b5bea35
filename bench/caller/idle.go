package caller

import (
	"context"
	"time"

	"github.com/footfall-dev/footfall/bench/post/child"
)

// Idle returns when the process has used next to no processor time for a moment, so that
// what SDKs do in the background is over, or after three seconds. Where that time is not
// known two milliseconds are taken for idle.
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
