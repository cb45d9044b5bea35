package queue

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// acceptOne counts an event into the open epoch, as the queue does.
func (l *epochs) acceptOne() *epoch {
	l.last.pending++
	return l.last
}

func isDone(e *epoch) bool { return isClosed(e.done) }

func TestEpochOfNothingIsSettledAtOnce(t *testing.T) {
	t.Parallel()
	l := newEpochs()
	for range 3 {
		done, settled := l.seal()
		assert.True(t, settled)
		assert.Nil(t, done)
	}
	e := l.acceptOne()
	l.settled(e)
	_, settled := l.seal()
	assert.True(t, settled, "an epoch whose events have all ended has nothing to wait for")
}

func TestEpochIsDoneWhenItsEventsAre(t *testing.T) {
	t.Parallel()
	l := newEpochs()
	a, b := l.acceptOne(), l.acceptOne()
	done, settled := l.seal()
	require.False(t, settled)
	l.settled(a)
	assert.False(t, isDone(done))
	l.settled(b)
	assert.True(t, isDone(done))
}

func TestEpochDoesNotWaitForLaterEvents(t *testing.T) {
	t.Parallel()
	l := newEpochs()
	before := l.acceptOne()
	done, _ := l.seal()
	after := l.acceptOne()
	require.NotSame(t, before, after)
	l.settled(before)
	assert.True(t, isDone(done))
	later, settled := l.seal()
	require.False(t, settled, "the later event is not settled")
	assert.False(t, isDone(later))
	l.settled(after)
	assert.True(t, isDone(later))
}

func TestEpochWaitsForAllBeforeIt(t *testing.T) {
	t.Parallel()
	l := newEpochs()
	first := l.acceptOne()
	firstDone, _ := l.seal()
	second := l.acceptOne()
	secondDone, _ := l.seal()
	l.settled(second)
	assert.False(t, isDone(secondDone), "an older event is still on its way")
	l.settled(first)
	assert.True(t, isDone(firstDone))
	assert.True(t, isDone(secondDone))
	_, settled := l.seal()
	assert.True(t, settled)
}

func TestEpochSealedAgainStillWaitsForOlderEvents(t *testing.T) {
	t.Parallel()
	l := newEpochs()
	e := l.acceptOne()
	first, _ := l.seal()
	second, settled := l.seal() // nothing was accepted since
	require.False(t, settled, "what was accepted before is not settled")
	assert.False(t, isDone(second))
	l.settled(e)
	assert.True(t, isDone(first))
	assert.True(t, isDone(second))
}

// A job that calls Flush every second while the API is down must not make the list of epochs
// grow, because no event is accepted meanwhile.
func TestEpochsDoNotGrowWithCallsOfFlush(t *testing.T) {
	t.Parallel()
	l := newEpochs()
	l.acceptOne()
	for range 1000 {
		_, settled := l.seal()
		require.False(t, settled)
	}
	n := 0
	for e := l.first; e != nil; e = e.after {
		n++
	}
	assert.LessOrEqual(t, n, 3, "%d epochs for one event", n)
}

// One event that always fails stays unsettled for long. A Flush that gives up must not leave an
// epoch behind.
func TestEpochsWithoutWaitersLeaveTheList(t *testing.T) {
	t.Parallel()
	l := newEpochs()
	poison := l.acceptOne()
	for range 1000 {
		e := l.acceptOne()
		flushed, settled := l.seal()
		require.False(t, settled)
		if e != poison {
			l.settled(e)
		}
		l.leave(flushed)
	}
	n := 0
	for e := l.first; e != nil; e = e.after {
		n++
	}
	assert.LessOrEqual(t, n, 3, "%d epochs for one event", n)
	last, _ := l.seal()
	poison.pending = 1
	l.settled(poison)
	assert.True(t, last == nil || isDone(last))
}
