//go:build ci && linux

package faults

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/footfalltest"
)

const (
	outageRate     = 2000
	outageInFlight = 16
	outageMemory   = 64 << 10 // KiB
)

func TestAnOutageLosesNothingKeepsTheOrderAndTakesLittleMemory(t *testing.T) {
	t.Parallel()
	dead := newDeadPort(t)
	events := outageRate * int(outageFor/time.Second)
	c := start(t, "-api", dead.URL, "-dir", t.TempDir(), "-backoff", "500ms", "-failures",
		"-rate", strconv.Itoa(outageRate), "-count", strconv.Itoa(events), "-inflight", strconv.Itoa(outageInFlight))
	c.expect("tracked")
	during := c.ask()
	api := footfalltest.NewAPI(t)
	t.Cleanup(func() { t.Logf("%d of %d events arrived", len(api.Events()), events) })
	dead.comeUp(t, api)
	up := time.Now()
	c.flush()
	took := time.Since(up)
	r := c.end()
	assert.Equal(t, uint64(events), during.Tracker.Tracked)
	assert.Equal(t, uint64(events), r.Tracker.Delivered)
	assert.Zero(t, r.Tracker.Dropped+r.Tracker.Refused)
	came := arrivals(api)
	assert.Len(t, came, events)
	assertArrived(t, api, slices.Collect(numbers(events)))
	assertOneKeyAndBody(t, api)
	early, most := overtaking(came, outageInFlight)
	require.Positive(t, r.Failures)
	assert.LessOrEqual(t, early, r.Failures+1, "events that came before %d older ones: only probes may, those that failed and the one that did not", outageInFlight)
	require.Positive(t, r.PeakKiB)
	assert.Less(t, r.PeakKiB, outageMemory)
	t.Logf("%d events in %v, delivered in %v; %d requests failed; %d events came before %d older ones or more, %d at most; peak %d KiB; in the file %d events of %d bytes",
		events, outageFor, took.Round(time.Millisecond), r.Failures, early, outageInFlight, most, r.PeakKiB, during.Spool.Events, during.Spool.Bytes)
}

// numbers yields 1 to n.
func numbers(n int) func(yield func(int64) bool) {
	return func(yield func(int64) bool) {
		for i := range int64(n) {
			if !yield(i + 1) {
				return
			}
		}
	}
}

// overtaking returns the number of events that arrived before limit or more older events, and the
// most older events that were missing when an event arrived. Events leave in order, so fewer are
// missing than there are senders. A probe is an exception: it is any of the events that the spool
// has read ahead.
func overtaking(came []int64, limit int) (events, most int) {
	early := make(map[int64]bool) // arrived before an older event
	next := int64(1)              // all older events have arrived
	for _, n := range came {
		early[n] = true
		for early[next] {
			delete(early, next)
			next++
		}
		if n < next {
			continue
		}
		older := int(n-next) - countBelow(early, n)
		most = max(most, older)
		if older >= limit {
			events++
		}
	}
	return events, most
}

func countBelow(early map[int64]bool, n int64) (count int) {
	for e := range early {
		if e < n {
			count++
		}
	}
	return count
}
