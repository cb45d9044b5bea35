package sqlite_test

import (
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/sqlite"
	"github.com/footfall-dev/footfall/collector/store"
	"github.com/footfall-dev/footfall/collector/store/storetest"
)

func TestAClosedDayIsRolledUpAndAnOpenDayIsNot(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	closed, today := numbered(1), numbered(2)
	today.At = midday()
	storetest.Add(t, s, closed)
	storetest.Add(t, s, today)
	sqlite.Settle(t, s)
	assert.EqualValues(t, 2, all(t, s).Events)
	assert.Equal(t, 1, sqlite.Rollups(t, s))
	release := sqlite.HoldCompactor(t, s)
	storetest.Add(t, s, closed)
	assert.Zero(t, sqlite.Rollups(t, s), "an event that comes late removes it")
	assert.EqualValues(t, 3, all(t, s).Events)
	release()
	sqlite.Settle(t, s)
	assert.EqualValues(t, 3, all(t, s).Events)
	assert.Equal(t, 1, sqlite.Rollups(t, s))
}

func TestClosingBeneathTheCompactorIsNotComplainedOf(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "events.db"), nil) // fails the test if it logs
	storetest.Add(t, s, numbered(1))
	require.NoError(t, s.Close())
	assert.False(t, sqlite.TryCatchUp(t.Context(), s), "there is nothing left to read")
}

func TestARollupIsNotKeptIfItsDayHasChangedSince(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	storetest.Add(t, s, numbered(1))
	assert.False(t, sqlite.RollUpWhile(t, s, "s", begin, func() {
		storetest.Add(t, s, numbered(2))
	}), "an event came in")
	assert.False(t, sqlite.RollUpWhile(t, s, "s", begin, func() {
		require.NoError(t, s.Forget(t.Context(), "s", begin.AddDate(0, 0, 1)))
	}), "the events were forgotten")
	storetest.Add(t, s, numbered(3))
	assert.True(t, sqlite.RollUpWhile(t, s, "s", begin, func() {
		other := numbered(4)
		other.At = begin.AddDate(0, 0, 1)
		storetest.Add(t, s, other)
	}), "another day has changed")
}

func TestASegmentIsNotKeptIfItsSpanHasChangedSince(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	storetest.Add(t, s, numbered(1))
	hour := begin.Add(time.Hour) // the hour of numbered events
	assert.False(t, sqlite.SegmentWhile(t, s, "s", hour, hour.Add(time.Hour), func() {
		storetest.Add(t, s, numbered(2))
	}), "an event came in")
}

func TestAnEventThatComesLateRemovesTheSegmentOfItsTimeAlone(t *testing.T) {
	t.Parallel()
	s := openWithSegments(t, filepath.Join(t.TempDir(), "events.db"), midday, 7)
	defer func() { require.NoError(t, s.Close()) }()
	morning := midday().Truncate(24 * time.Hour)
	for i := range 36 {
		e := numbered(i)
		e.At = morning.Add(time.Duration(i) * time.Minute)
		storetest.Add(t, s, e)
	}
	sqlite.Settle(t, s)
	require.Equal(t, 5, sqlite.Segments(t, s), "of seven events each, and one is left")
	defer sqlite.HoldCompactor(t, s)()
	for _, late := range []struct {
		name     string
		at       time.Time
		segments int
	}{
		{"after all of them", morning.Add(35*time.Minute + time.Millisecond), 5},
		{"at the end of one, which begins the next", morning.Add(6*time.Minute + time.Millisecond), 4},
		{"in the middle of one", morning.Add(17 * time.Minute), 3},
		{"where one was", morning.Add(18 * time.Minute), 3},
		{"of another site", morning.Add(25 * time.Minute), 3},
	} {
		e := numbered(0)
		e.At = late.at
		if late.name == "of another site" {
			e.Site = "t"
		}
		storetest.Add(t, s, e)
		assert.Equal(t, late.segments, sqlite.Segments(t, s), late.name)
		assert.Equal(t, late.segments < 5, sqlite.IsDue(s), "%s: a segment that was removed is made again", late.name)
	}
	assert.EqualValues(t, 40, all(t, s).Events)
}

func TestTheSegmentsOfADayBecomeOneWhenItIsClosed(t *testing.T) {
	t.Parallel()
	var now atomic.Int64
	now.Store(midday().UnixNano())
	s := openWithSegments(t, filepath.Join(t.TempDir(), "events.db"), func() time.Time { return time.Unix(0, now.Load()) }, 7)
	defer func() { require.NoError(t, s.Close()) }()
	for i := range 30 {
		e := numbered(i)
		e.At = midday().Add(time.Duration(i-60) * time.Minute)
		storetest.Add(t, s, e)
	}
	sqlite.Settle(t, s)
	assert.Equal(t, 4, sqlite.Segments(t, s))
	assert.Zero(t, sqlite.Rollups(t, s))
	now.Store(end.Add(time.Second).UnixNano())
	require.Eventually(t, func() bool { return sqlite.Rollups(t, s) == 1 }, 10*time.Second, 10*time.Millisecond, "nobody needs to ask")
	assert.Equal(t, 1, sqlite.Segments(t, s))
	assert.EqualValues(t, 30, all(t, s).Events)
}

func TestWhatWasAddedBeforeTheStartIsRolledUpWithoutAReport(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "events.db")
	early := open(t, file, func() time.Time { return begin })
	for day := range 5 {
		for _, site := range []string{"s", "t"} {
			e := numbered(day)
			e.Site, e.At = site, begin.AddDate(0, 0, day)
			storetest.Add(t, early, e)
		}
	}
	require.NoError(t, early.Close())
	s := open(t, file, midday)
	defer func() { require.NoError(t, s.Close()) }()
	require.Eventually(t, func() bool { return sqlite.Rollups(t, s) == 10 }, 10*time.Second, 10*time.Millisecond)
}

// Events of a time that has not come yet must not make the compactor look again each second.
func TestEventsOfLaterTimesAreNotDueUntilThen(t *testing.T) {
	t.Parallel()
	var now atomic.Int64
	now.Store(midday().UnixNano())
	s := openWithSegments(t, filepath.Join(t.TempDir(), "events.db"), func() time.Time { return time.Unix(0, now.Load()) }, 7)
	defer func() { require.NoError(t, s.Close()) }()
	defer sqlite.HoldCompactor(t, s)()
	settle := func() bool {
		for range 10 {
			if !sqlite.IsDue(s) {
				return true
			}
			sqlite.CatchUpHeld(t, s)
		}
		return false
	}
	require.True(t, settle())
	add := func(n int, at time.Time) {
		for i := range n {
			e := numbered(i)
			e.At = at.Add(time.Duration(i) * time.Minute)
			storetest.Add(t, s, e)
		}
	}
	add(20, midday().Add(time.Hour))
	require.True(t, settle(), "it is due again and again")
	assert.Zero(t, sqlite.Segments(t, s))

	add(7, midday().Add(-time.Hour))
	require.True(t, settle())
	assert.Equal(t, 1, sqlite.Segments(t, s), "earlier events do not wait")

	now.Store(midday().Add(65 * time.Minute).UnixNano())
	assert.False(t, sqlite.IsDue(s), "six of seven")
	now.Store(midday().Add(67 * time.Minute).UnixNano())
	assert.True(t, sqlite.IsDue(s))
	require.True(t, settle())
	assert.Equal(t, 2, sqlite.Segments(t, s))
	assert.EqualValues(t, 27, all(t, s).Events)
}

// A store that is opened again has lost all of its segments and rollups. Each look for work asks for the
// time, so the clock sees how far it is.
func TestAStoreSaysHowFarItIsWithItsFiguresAfterTheStart(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "events.db")
	s := openWithSegments(t, file, midday, 7)
	for i := range 3 * 20 {
		e := numbered(i)
		e.At = begin.AddDate(0, 0, i/20).Add(time.Duration(i) * time.Minute)
		storetest.Add(t, s, e)
	}
	sqlite.Settle(t, s)
	_, some := s.Backlog()
	assert.False(t, some)
	sqlite.Exec(t, s, "DELETE FROM rollup")
	sqlite.Exec(t, s, "DELETE FROM piece")
	require.NoError(t, s.Close())

	var mu sync.Mutex
	var seen []store.Backlog
	opened := make(chan *sqlite.Store, 1)
	again := openWithSegments(t, file, func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		s := <-opened
		if log, some := s.Backlog(); some {
			seen = append(seen, log)
		}
		opened <- s
		return midday()
	}, 7)
	opened <- again
	defer func() { require.NoError(t, again.Close()) }()
	sqlite.Settle(t, again)
	_, some = again.Backlog()
	assert.False(t, some)
	mu.Lock()
	defer mu.Unlock()
	require.NotEmpty(t, seen)
	assert.Equal(t, store.Backlog{}, seen[0], "it looks for the days")
	for _, want := range []store.Backlog{{Days: 3}, {Days: 3, Events: 20}, {Days: 3, Done: 1}, {Days: 3, Done: 2, Events: 20}} {
		assert.Contains(t, seen, want)
	}
}
