package caller

import (
	"context"
	"time"
)

// Idle returns when the process has used next to no processor time for a moment, so that
// what SDKs do in the background is over, or after three seconds.
func Idle(ctx context.Context) error {
	const moment = 2 * time.Millisecond
	for range 3 * time.Second / moment {
		before := processorTime()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(moment):
		}
		if processorTime()-before < moment/10 {
			return nil
		}
	}
	return nil
}
