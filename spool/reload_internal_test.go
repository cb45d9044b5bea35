package spool

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
)

// outage is a feed whose events are given back.
type outage struct {
	*feed
	kept, last int
}

func newOutage() *outage {
	f, _ := newTestFeed()
	return &outage{feed: f}
}

// giveBack stores n events with a name, which Next takes and gives back.
func (o *outage) giveBack(n int, name string, err error) {
	one := make([]footfall.Record, 1)
	for ; n > 0; n-- {
		o.last++
		it := some(o.last, 1)[0]
		it.rec.Body = fmt.Appendf(nil, `{"site_id":"site","name":%q}`, name)
		o.stored([]*item{it})
		for o.Take(one) == 1 {
			if _, ok := o.Retry(one[0], err); ok {
				o.kept++
			}
		}
	}
}

// settle settles the events with keys from first on.
func (o *outage) settle(first, n int) {
	for key := range n {
		o.Settle([]footfall.Record{some(first+key, 1)[0].rec}, footfall.OutcomeDelivered, nil)
	}
	o.ended = nil // removed from the file
}

// In an outage the events of a file that were never sent stay there, except for half as many as there is
// room for.
func TestEventsThatWaitForOthersTakeHalfOfTheRoom(t *testing.T) {
	const half = unsentEvents / 2
	o := newOutage()
	o.giveBack(3*half, "a", nil)
	assert.Equal(t, half, o.kept)
	assert.Len(t, o.out, half)
	assert.Equal(t, 2*half, o.file.inFileOnly)
	o.reload(time.Now())
	assert.False(t, o.file.reading, "Next sends nothing")
	flush := o.await()
	o.settle(1, half-unsentEvents/8+1)
	assert.False(t, o.reloads(), "those in memory come first")
	o.settle(half-unsentEvents/8+2, 1)
	o.answer()
	assert.Len(t, o.flushes, 1, "a Flush waits for events that are in the file only")
	o.leave(flush)
	o.reload(time.Now())
	assert.True(t, o.file.reading)
	assert.Zero(t, o.file.inFileOnly)
}

// An event that would take the place of an older one comes after it.
func TestNewerEventsDoNotTakeTheRoomOfOlderOnes(t *testing.T) {
	o := newOutage()
	o.giveBack(unsentEvents, "a", nil)
	failed := []footfall.Record{some(1, 1)[0].rec}
	_, ok := o.Retry(failed[0], errNextStopped)
	require.True(t, ok)
	kept := o.kept
	o.giveBack(1, "a", nil)
	assert.Equal(t, kept, o.kept)
	o.giveBack(1, "b", nil)
	assert.Equal(t, kept+1, o.kept)
}

func TestAKindThatWaitsLeavesRoomForOthers(t *testing.T) {
	o := newOutage()
	for i, name := range []string{"a", "b", "c"} {
		o.kept = 0
		o.giveBack(2*unsentEvents, name, nil)
		assert.Equal(t, unsentEvents>>(i+1), o.kept, name)
	}
}

// A kind that fails for long may not keep events of others in the file. A reading takes up to a tenth of the time.
func TestTheFileIsReadAgainForAKindWhoseEventsAreSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOutage()
		o.giveBack(unsentEvents, "a", nil)
		for range 3 {
			first := o.last + 1
			o.giveBack(unsentEvents/2, "b", nil)
			more := unsentEvents/4 - unsentEvents/8 + 1 // than an eighth of the room
			o.settle(first, more)
			assert.False(t, o.reloads(), "the events in memory come first")
			o.settle(first+more, unsentEvents)
			at, ok := o.reloadAt()
			require.True(t, ok)
			if wait := time.Until(at); wait > 0 {
				assert.Equal(t, 4500*time.Millisecond, wait)
				time.Sleep(wait - 1)
				o.reload(time.Now())
				require.False(t, o.file.reading)
				time.Sleep(time.Nanosecond)
			}
			o.reload(time.Now())
			require.True(t, o.file.reading)
			time.Sleep(500 * time.Millisecond)
			o.atEnd(true)
		}
	})
}

// In an outage probes use up the events in memory.
func TestTheFileIsReadAgainWhenThereIsRoom(t *testing.T) {
	o := newOutage()
	o.giveBack(unsentEvents, "a", nil)
	for key := range unsentEvents / 4 {
		assert.False(t, o.reloads())
		o.Retry(some(key+1, 1)[0].rec, errNextStopped)
	}
	o.Retry(some(unsentEvents/4+1, 1)[0].rec, errNextStopped)
	assert.True(t, o.reloads())
}

func TestAnEventThatWaitedAndThenFailedCountsAsFailed(t *testing.T) {
	f, _ := newTestFeed()
	f.stored(some(1, 1))
	one := make([]footfall.Record, 1)
	for _, row := range []struct {
		err  error
		want [2]count
	}{
		{nil, [2]count{{}, {1, 2}}},
		{errNextStopped, [2]count{{1, 2}, {}}},
		{nil, [2]count{{1, 2}, {}}},
	} {
		if f.out[some(1, 1)[0].rec.ID].waits == notWaiting {
			assert.Equal(t, 1, f.Take(one))
		}
		_, ok := f.Retry(one[0], row.err)
		assert.True(t, ok)
		assert.Equal(t, row.want, [2]count{f.waits.failed, f.waits.unsent})
	}
	f.Settle(one, footfall.OutcomeDelivered, nil)
	assert.Zero(t, f.waits)
}
