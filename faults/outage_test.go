//go:build linux

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
	c := start(t, "-api", dead.URL, "-dir", t.TempDir(), "-backoff", "500ms",
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
	const window = 1024 // that a spool reads ahead: the event that finds out that the API is back may be any of them
	assert.Less(t, mostOlderMissing(came), outageInFlight+window, "events overtook more than there are")
	require.Positive(t, r.PeakKiB)
	assert.Less(t, r.PeakKiB, outageMemory)
	t.Logf("%d events in %v, delivered in %v; at most %d older ones missing; peak %d KiB; in the file %d events of %d bytes",
		events, outageFor, took.Round(time.Millisecond), mostOlderMissing(came), r.PeakKiB, during.Spool.Events, during.Spool.Bytes)
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

// mostOlderMissing says how many older events had not arrived yet when one did, at most.
// Events leave in their order, so these are on their way with other senders: fewer than
// there are senders.
func mostOlderMissing(came []int64) (most int) {
	early := make(map[int64]bool) // those that came before an older one
	next := int64(1)              // all older ones have come
	for _, n := range came {
		early[n] = true
		for early[next] {
			delete(early, next)
			next++
		}
		if n >= next {
			older := int(n-next) - countBelow(early, n)
			most = max(most, older)
		}
	}
	return most
}

func countBelow(early map[int64]bool, n int64) (count int) {
	for e := range early {
		if e < n {
			count++
		}
	}
	return count
}
