//go:build ci

package caller

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/bench/peers"
	"github.com/footfall-dev/footfall/bench/report"
)

var small = limits{events: 2000, time: 5 * time.Second}

func TestAcceptedEventsArriveAndAreCounted(t *testing.T) {
	for _, c := range append([]contestant{overSettler()}, contestants()...) {
		t.Run(c.name, func(t *testing.T) {
			var s sustained
			bounds := small
			if c.name == "sentry log" {
				bounds.events = 750 // its ring has 1,000
			}
			found, err := s.trial(t.Context(), c, 1, bounds)
			require.NoError(t, err)
			assert.Equal(t, bounds.events, s.accepted)
			assert.Equal(t, bounds.events, s.arrived)
			assert.Positive(t, found.ns)
		})
	}
}

// leaky accepts everything, refuses every tenth event and loses every hundredth.
type leaky struct{ tracked, sent atomic.Int64 }

func (l *leaky) Track(int) error {
	n := l.tracked.Add(1)
	if n%10 == 0 {
		return errors.New("full")
	}
	if n%100 != 1 {
		l.sent.Add(1)
	}
	return nil
}
func (*leaky) Flush(context.Context) error { return peers.ErrNoFlush }
func (*leaky) Close(context.Context) error { return nil }
func (l *leaky) consumed() (int, error)    { return int(l.sent.Load()), nil }

func TestAnSDKThatDropsIsFoundOut(t *testing.T) {
	c := contestant{name: "leaky", open: func(int, bool) (peers.Client, consumer, error) {
		l := &leaky{}
		return l, l, nil
	}}
	var s sustained
	_, err := s.trial(t.Context(), c, 2, small)
	require.NoError(t, err)
	assert.Equal(t, 1800, s.accepted)
	assert.Equal(t, 200, s.refused)
	assert.Equal(t, 1780, s.arrived)
	notes := sustainedNotes([]contestant{c}, []sustained{s})
	assert.Contains(t, notes, "leaky lost 20 of the 1800 events that it accepted, so its figures do not include the cost of delivering them.")
	assert.Contains(t, notes, "leaky refused 200 events with an error.")
	assert.Equal(t, 20, sustainedTable([]contestant{c}, []sustained{s}).Rows[0][10])
}

// wasteful allocates twice and takes 20 microseconds, so that both are visible.
type wasteful struct{ leaky }

var sink [2]*[64]byte

func (*wasteful) Track(int) error {
	for start := time.Now(); time.Since(start) < 20*time.Microsecond; {
		sink[0] = nil
	}
	sink[0], sink[1] = new([64]byte), new([64]byte)
	return nil
}

func TestTheCallersTimeAndAllocationsAreMeasured(t *testing.T) {
	var found costs
	c := contestant{open: func(int, bool) (peers.Client, consumer, error) { return &wasteful{}, nil, nil }}
	require.NoError(t, alone(t.Context(), c, &found))
	assert.Len(t, found.ns, burstsTimed)
	assert.GreaterOrEqual(t, report.Median(found.ns), 20_000.0)
	assert.InDelta(t, 2, report.Median(found.allocs), 0.1)
}

func TestAnErrorOfTrackEndsTheBursts(t *testing.T) {
	_, err := timed(&leaky{})
	assert.ErrorContains(t, err, "full")
	_, err = allocated(&leaky{})
	assert.ErrorContains(t, err, "full")
}
