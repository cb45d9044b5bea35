package spool

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
)

// tracked is a tracker's queue that records calls.
type tracked struct {
	moved   map[footfall.Outcome]int
	settled map[footfall.Outcome]int
}

func (q *tracked) Moved(n int, o footfall.Outcome)                          { q.moved[o] += n }
func (q *tracked) Waiting() (n int, more bool)                              { return 0, true }
func (q *tracked) Take([]footfall.Record) int                               { return 0 }
func (q *tracked) Retry(r footfall.Record, _ error) (footfall.Record, bool) { return r, true }
func (q *tracked) Settle(r []footfall.Record, o footfall.Outcome, _ error) {
	q.settled[o] += len(r)
}

func newTestFeed() (*feed, *tracked) {
	q := &tracked{moved: make(map[footfall.Outcome]int), settled: make(map[footfall.Outcome]int)}
	f := newFeed(-1, func() {})
	f.src = footfall.NewSource(q)
	return f, q
}

// some returns events of the file with keys from first on.
func some(first, n int) (items []*item) {
	for i := range n {
		rec := footfall.Record{ID: [16]byte{14: byte((first + i) >> 8), 15: byte(first + i)}, Body: []byte("{}")}
		items = append(items, &item{rec: rec, key: uint64(first + i), size: 30, own: true})
	}
	return items
}

func TestWaitOfAFeedReturnsWhenEventsCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, _ := newTestFeed()
		began := time.Now()
		time.AfterFunc(3*time.Hour, func() { f.stored(some(1, 5)) })
		n, ok := f.next.Wait(t.Context())
		assert.True(t, ok)
		assert.Equal(t, 5, n)
		assert.Equal(t, 3*time.Hour, time.Since(began))
	})
}

func TestWaitOfAFeedDoesNotSpinWhileNextTakesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, _ := newTestFeed()
		f.stored(some(1, 5))
		began := time.Now()
		for range 4 {
			n, ok := f.next.Wait(t.Context())
			require.True(t, ok)
			require.Equal(t, 5, n)
		}
		assert.Equal(t, 3*lookAgain, time.Since(began), "the first at once")
	})
}

func TestWaitOfAFeedEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, _ := newTestFeed()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, ok := f.next.Wait(ctx)
		assert.False(t, ok)
	})
}

func TestWaitOfAFeedEndsForAllCallersAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, _ := newTestFeed()
		results := make(chan bool)
		for range 5 {
			go func() {
				_, ok := f.next.Wait(t.Context())
				results <- ok
			}()
		}
		synctest.Wait()
		f.close()
		for range 5 {
			assert.False(t, <-results)
		}
		assert.True(t, func() bool { _, open := <-f.next.Closing(); return !open }())
	})
}

func TestAClosingFeedFirstHandsOutTheRemainingEvents(t *testing.T) {
	f, _ := newTestFeed()
	f.stored(some(1, 3))
	f.close()
	n, ok := f.next.Wait(t.Context())
	require.True(t, ok)
	taken := make([]footfall.Record, 10)
	require.Equal(t, n, f.Take(taken))
	_, ok = f.next.Wait(t.Context())
	assert.False(t, ok)
}

func TestTakeOfAnEmptyFeedReturnsAtOnce(t *testing.T) {
	f, _ := newTestFeed()
	assert.Zero(t, f.Take(make([]footfall.Record, 10)))
}

func TestARecordIsSettledOnce(t *testing.T) {
	f, q := newTestFeed()
	f.stored(some(1, 2))
	taken := make([]footfall.Record, 1)
	f.Take(taken)
	stranger := some(9, 1)[0].rec
	notTaken := some(2, 1)[0].rec
	for range 3 {
		f.Settle(taken, footfall.OutcomeDelivered, nil)
		f.Settle([]footfall.Record{stranger, notTaken}, footfall.OutcomeDelivered, nil)
	}
	assert.Equal(t, map[footfall.Outcome]int{footfall.OutcomeDelivered: 1}, q.moved)
	ended, _ := f.endings()
	assert.Equal(t, []parcel{{1, 30}}, ended)
}

func TestEventsOfAnEarlierProcessAreNotReportedToTheTracker(t *testing.T) {
	f, q := newTestFeed()
	r := record{key: 1, run: 5, rec: some(1, 1)[0].rec}
	f.load(&r, 6, time.Now(), func(b []byte) []byte { return b })
	taken := make([]footfall.Record, 1)
	require.Equal(t, 1, f.Take(taken))
	f.Settle(taken, footfall.OutcomeDelivered, nil)
	assert.Empty(t, q.moved)
	assert.Equal(t, uint64(1), f.read().Delivered)
}

// A Next that stores events reports their outcome later. If it reports more events than it got
// from this run, the others are from earlier runs.
func TestEventsThatNextStoresAreMovedWhenNextReportsThem(t *testing.T) {
	f, q := newTestFeed()
	f.stored(some(1, 3))
	taken := make([]footfall.Record, 3)
	f.Take(taken)
	f.Settle(taken, footfall.OutcomeStored, nil)
	assert.Empty(t, q.moved, "stored they are still")
	f.Moved(2, footfall.OutcomeDelivered)
	f.Moved(5, footfall.OutcomeRejected)
	assert.Equal(t, map[footfall.Outcome]int{footfall.OutcomeDelivered: 2, footfall.OutcomeRejected: 1}, q.moved)
	assert.Equal(t, uint64(3), f.read().HandedOver)
}

func TestTheWindowIsBounded(t *testing.T) {
	f, _ := newTestFeed()
	f.stored(some(1, 3*windowEvents))
	assert.Equal(t, windowEvents, f.window.Len())
	from, low := f.wants()
	assert.Equal(t, uint64(windowEvents+1), from)
	assert.False(t, low)
	f.Take(make([]footfall.Record, windowEvents/2+1))
	_, low = f.wants()
	assert.True(t, low)
}

func TestTheWindowIsBoundedInBytes(t *testing.T) {
	f, _ := newTestFeed()
	items := some(1, 10)
	for _, it := range items {
		it.rec.Body = make([]byte, windowBytes/4)
	}
	f.stored(items)
	assert.Equal(t, 4, f.window.Len())
	from, _ := f.wants()
	assert.Equal(t, uint64(5), from)
}

func TestEventsInMemoryOnlyAreSettledWithTheTracker(t *testing.T) {
	f, q := newTestFeed()
	f.expose([]footfall.Record{some(1, 1)[0].rec, some(2, 1)[0].rec, some(3, 1)[0].rec}, false)
	taken := make([]footfall.Record, 1)
	f.Take(taken)
	assert.Len(t, f.hide(), 2, "one is on its way")
	f.Settle(taken, footfall.OutcomeDelivered, nil)
	assert.Equal(t, map[footfall.Outcome]int{footfall.OutcomeDelivered: 1}, q.settled)
	f.expose([]footfall.Record{some(2, 1)[0].rec}, false)
	f.abandon(errNextStopped)
	assert.Equal(t, 1, q.settled[footfall.OutcomeLost])
	assert.Zero(t, f.Take(taken), "its memory is the tracker's again")
	ended, _ := f.endings()
	assert.Empty(t, ended)
}

func TestFlushWaitsUntilTheFileIsEmpty(t *testing.T) {
	f, _ := newTestFeed()
	done := func(fl *flush) bool {
		f.answer()
		return isClosed(fl.done)
	}
	f.committed(&store{next: 3, events: 2}, 0)
	f.stored(some(1, 2))
	fl := f.await()
	assert.False(t, done(fl), "in the window")
	taken := make([]footfall.Record, 2)
	f.Take(taken)
	assert.False(t, done(fl), "on its way")
	f.Settle(taken, footfall.OutcomeDelivered, nil)
	assert.False(t, done(fl), "still in the file")
	f.committed(&store{next: 3}, 2)
	assert.True(t, done(fl))
}

func TestFlushWaitsForEventsThatAreNotReadFromTheFileYet(t *testing.T) {
	f, _ := newTestFeed()
	f.committed(&store{next: windowEvents + 2, events: windowEvents + 1}, 0)
	f.stored(some(1, windowEvents+1))
	fl := f.await()
	taken := make([]footfall.Record, windowEvents)
	f.Take(taken)
	f.Settle(taken, footfall.OutcomeDelivered, nil)
	f.committed(&store{next: windowEvents + 2, events: 1}, windowEvents)
	f.answer()
	assert.False(t, isClosed(fl.done), "one more is in the file")
}

func isClosed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

func TestAnEventThatNextGivesUpIsTakenNext(t *testing.T) {
	f, _ := newTestFeed()
	f.stored(some(1, 4))
	taken := make([]footfall.Record, 4)
	require.Equal(t, 2, f.Take(taken[:2]))
	f.Settle(taken[:2], footfall.OutcomeLost, errNextStopped)
	f.tick()
	require.Equal(t, 4, f.Take(taken))
	for i, it := range some(1, 4) {
		assert.Equal(t, it.rec.ID, taken[i].ID)
	}
}

func TestTakeReturnsNoExpiredEvent(t *testing.T) {
	f, q := newTestFeed()
	f.stored(some(1, 3))
	f.maxAge = time.Hour
	f.clock.set(time.Hour + 1)
	assert.Zero(t, f.Take(make([]footfall.Record, 3)))
	assert.Equal(t, uint64(3), f.read().Expired)
	assert.Equal(t, map[footfall.Outcome]int{footfall.OutcomeLost: 3}, q.moved)
}

// Only Next can settle an event that is in memory only.
func TestEventsInMemoryOnlyDoNotExpire(t *testing.T) {
	f, q := newTestFeed()
	f.maxAge = time.Nanosecond
	f.clock.set(time.Hour)
	f.expose([]footfall.Record{some(1, 1)[0].rec}, false)
	assert.Zero(t, f.sweep(time.Now()))
	taken := make([]footfall.Record, 1)
	require.Equal(t, 1, f.Take(taken))
	f.Settle(taken, footfall.OutcomeDelivered, nil)
	assert.Equal(t, 1, q.settled[footfall.OutcomeDelivered])
}

// Events in the file are safe. Events in memory have no other chance.
func TestAClosingFeedTriesEventsInMemoryEvenIfTheAPIDoesNotAnswer(t *testing.T) {
	f, q := newTestFeed()
	f.stored(some(1, 2*windowEvents))
	f.expose([]footfall.Record{some(8000, 1)[0].rec, some(8001, 1)[0].rec}, false)
	f.close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	tried := 0
	one := make([]footfall.Record, 1)
	for _, ok := f.next.Wait(ctx); ok; _, ok = f.next.Wait(ctx) {
		for f.Take(one) == 1 {
			tried++
			f.Settle(one, footfall.OutcomeLost, errNextStopped)
		}
	}
	assert.Equal(t, enoughLost+2, tried)
	assert.Equal(t, map[footfall.Outcome]int{footfall.OutcomeLost: 2}, q.settled)
	assert.Empty(t, q.moved)
	_, more := f.wants()
	assert.False(t, more, "the rest of the file is not read")
}

// The file is opened again while Next still gives events back.
func TestAnEventThatNextGivesUpWhileClosingIsNotLost(t *testing.T) {
	f, q := newTestFeed()
	f.stored(some(1, 3))
	f.close()
	taken := make([]footfall.Record, 3)
	f.Take(taken)
	f.Settle(taken[:2], footfall.OutcomeLost, errNextStopped)
	f.failed()
	f.opened(&store{next: 4, events: 3}, &contents{events: 3}, false)
	assert.Empty(t, q.moved)
}

func TestFailedEventsInMemoryAreWrittenWhenTheFileWorksAgain(t *testing.T) {
	f, _ := newTestFeed()
	f.failed()
	inFile := some(1, 1)
	f.stored(inFile)
	f.expose([]footfall.Record{some(2, 1)[0].rec, some(3, 1)[0].rec}, false)
	taken := make([]footfall.Record, 3)
	require.Equal(t, 3, f.next.Take(taken))
	f.next.Retry(taken[0], time.Hour, errNextStopped)
	f.next.Retry(taken[1], time.Hour, errNextStopped)
	assert.Empty(t, f.failedDirect(), "the file cannot be used yet")
	f.stats.Degraded = false
	hidden := f.hide()
	require.Len(t, hidden, 1)
	assert.Equal(t, taken[1].ID, hidden[0].ID)
	assert.Equal(t, 1, f.window.Len(), "the event of the file is tried again")
	f.next.Retry(taken[2], time.Hour, errNextStopped)
	written := f.failedDirect()
	require.Len(t, written, 1)
	assert.Equal(t, taken[2].ID, written[0].ID)
	assert.Empty(t, f.failedDirect())
}

func TestAnEventTooLargeForTheFileStaysInMemory(t *testing.T) {
	f, _ := newTestFeed()
	f.expose([]footfall.Record{some(1, 1)[0].rec}, true)
	taken := make([]footfall.Record, 1)
	require.Equal(t, 1, f.next.Take(taken))
	f.next.Retry(taken[0], 0, errNextStopped)
	assert.Empty(t, f.failedDirect())
	assert.Equal(t, 1, f.next.Take(taken), "it is tried again")
}

func TestAnEventThatExpiresWhenItFailsIsNotRetried(t *testing.T) {
	f, _ := newTestFeed()
	f.maxAge = time.Hour
	f.stored(some(1, 1))
	one := make([]footfall.Record, 1)
	require.Equal(t, 1, f.next.Take(one))
	f.next.Retry(one[0], 0, errNextStopped)
	require.Error(t, f.next.Failure())
	require.Equal(t, 1, f.next.Take(one))
	f.clock.set(time.Hour + 1)
	f.next.Retry(one[0], 0, errNextStopped)
	assert.NoError(t, f.next.Failure())
}

// Events that are in the file only are no less Stored when it is opened again. Those that are missing in it
// are lost, except those in memory.
func TestEventsThatAreOnlyInTheFileAreCountedWhenItIsOpenedAgain(t *testing.T) {
	const n = 3 * windowEvents
	for missing, want := range map[int]int{0: 0, 1: 0, n: 1} {
		f, q := newTestFeed()
		one := make([]footfall.Record, 1)
		for first := 1; first <= n; first += windowEvents / 2 {
			f.stored(some(first, windowEvents/2))
			for f.Take(one) == 1 {
				f.Retry(one[0], nil)
			}
		}
		ended := []footfall.Record{some(2, 1)[0].rec}
		f.Settle(ended, footfall.OutcomeDelivered, nil)
		f.failed()
		e := expect{known: f.known(), uncertain: none}
		f.stored(nil)
		f.Settle([]footfall.Record{some(3, 1)[0].rec}, footfall.OutcomeDelivered, nil)
		_, ok := f.Retry(some(4, 1)[0].rec, nil)
		assert.True(t, ok, "the file cannot be read")
		var c contents
		for key := 1; key <= n; key++ {
			if key != missing {
				c.add(&record{key: uint64(key)}, &e)
			}
		}
		f.opened(&store{next: n + 1, events: c.events}, &c, false)
		assert.Equal(t, want, q.moved[footfall.OutcomeLost], missing)
		assert.Equal(t, uint64(n-2-want), f.own.live)
	}
}
