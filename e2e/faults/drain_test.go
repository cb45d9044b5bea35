//go:build ci && linux

package faults

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
	"github.com/footfall-dev/footfall/spool"
)

// drained returns the numbers of the events in a directory, which it empties.
func drained(t *testing.T, dir string) []int64 {
	var out collector
	stored, err := spool.New(spool.Config{Dir: dir, Next: &out, Logger: slog.New(slog.DiscardHandler)})
	if !assert.NoError(t, err) {
		return nil
	}
	tracker, err := footfall.New(footfall.Config{SiteID: footfalltest.SiteID, Transport: stored})
	if !assert.NoError(t, err) {
		return nil
	}
	assert.NoError(t, within(patience, tracker.Flush))
	assert.NoError(t, within(patience, tracker.Close))
	return out.numbers
}

// collector is a footfall.Transport that collects the numbers of events. Read numbers only
// after Deliver has returned.
type collector struct{ numbers []int64 }

var _ footfall.Transport = (*collector)(nil)

// Deliver implements footfall.Transport.
func (c *collector) Deliver(ctx context.Context, src *footfall.Source) {
	records := make([]footfall.Record, 64)
	for {
		if _, ok := src.Wait(ctx); !ok {
			return
		}
		for n := src.Take(records); n > 0; n = src.Take(records) {
			for _, r := range records[:n] {
				var e footfalltest.Event
				if json.Unmarshal(r.Body, &e) == nil {
					c.numbers = append(c.numbers, number(e.Props))
				}
			}
			src.Settle(records[:n], footfall.OutcomeDelivered, nil)
		}
	}
}
