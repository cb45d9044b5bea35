package sqlite_test

import (
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/sqlite"
	"github.com/footfall-dev/footfall/collector/store"
	"github.com/footfall-dev/footfall/collector/store/storetest"
)

func openWithWindow(t *testing.T, file string, now func() time.Time, window time.Duration) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlite.Config{File: file, Now: now, IdempotencyWindow: window, Logger: silent})
	require.NoError(t, err)
	return s
}

func TestStoreRemembersKeysForAsLongAsItIsTold(t *testing.T) {
	t.Parallel()
	storetest.RunIdempotencyWindow(t, func(t *testing.T, now func() time.Time, window time.Duration) store.Store {
		return openWithWindow(t, filepath.Join(t.TempDir(), "events.db"), now, window)
	})
}

func TestAnIdempotencyWindowThatCannotBeIsRefused(t *testing.T) {
	t.Parallel()
	for _, window := range []time.Duration{-1, 1, time.Minute - 1, 720*time.Hour + 1} {
		file := filepath.Join(t.TempDir(), "events.db")
		_, err := sqlite.Open(t.Context(), sqlite.Config{File: file, IdempotencyWindow: window})
		assert.EqualError(t, err, fmt.Sprintf("sqlite: Config.IdempotencyWindow: %v is not from 1m0s to 720h0m0s", window))
		assert.NoFileExists(t, file)
	}
}

// The file stores when a key was added, so the current window decides.
func TestAnotherIdempotencyWindowCanBeSetWhenTheFileIsOpenedAgain(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "events.db")
	var later atomic.Int64
	now := func() time.Time { return begin.Add(time.Duration(later.Load())) }
	add := func(window time.Duration) int64 {
		s := openWithWindow(t, file, now, window)
		defer func() { require.NoError(t, s.Close()) }()
		e := numbered(1)
		e.Key = "k"
		storetest.Add(t, s, e)
		return all(t, s).Events
	}
	require.EqualValues(t, 1, add(0))
	later.Store(int64(23 * time.Hour))
	assert.EqualValues(t, 1, add(72*time.Hour), "it is longer from here on")
	later.Store(int64(30 * time.Hour))
	assert.EqualValues(t, 1, add(72*time.Hour))
	assert.EqualValues(t, 2, add(0), "it is shorter")
}

func TestManyKeysThatAreRememberedNoLongerAreRemovedBitByBit(t *testing.T) {
	t.Parallel()
	var later atomic.Int64
	now := func() time.Time { return begin.Add(time.Duration(later.Load())) }
	s := openWithWindow(t, filepath.Join(t.TempDir(), "events.db"), now, 0)
	defer func() { require.NoError(t, s.Close()) }()
	sqlite.PlantKeys(t, s, 500, begin.Add(-25*time.Hour))
	var left []int
	for i := range 4 {
		for repeat := range 3 { // concurrently
			e := numbered(i)
			e.Key = fmt.Sprint("new ", i, repeat)
			storetest.Add(t, s, e)
		}
		left = append(left, sqlite.Scalar[int](t, s, "SELECT count(*) FROM key WHERE key LIKE 'planted%'"))
		later.Add(int64(30 * time.Millisecond))
	}
	assert.Equal(t, []int{300, 100, 0, 0}, left)
}

func TestAClockThatIsAheadForAWhileExpiresNoKey(t *testing.T) {
	t.Parallel()
	var ahead, elapsed time.Duration
	wall := func() time.Time { return begin.Add(elapsed + ahead) }
	s := sqlite.OpenWithClock(t, sqlite.Config{File: filepath.Join(t.TempDir(), "events.db"), Logger: silent}, wall, func() time.Duration { return elapsed })
	defer func() { require.NoError(t, s.Close()) }()
	added := int64(0)
	add := func(key string, isNew bool, why string) {
		t.Helper()
		e := numbered(int(added))
		e.Key = key
		storetest.Add(t, s, e)
		if isNew {
			added++
		}
		assert.Equal(t, added, all(t, s).Events, why)
	}
	add("a", true, "new")
	for _, step := range []time.Duration{25 * time.Hour, 365 * 24 * time.Hour} {
		ahead = step
		add("a", false, "the clock is wrong")
		elapsed += time.Hour
		add("b"+step.String(), true, "events go on")
		ahead = 0
		add("a", false, "the clock is right again")
		add("b"+step.String(), false, "it was added while the clock was wrong")
	}
	ahead = -48 * time.Hour
	add("a", false, "the clock is behind")
	ahead = 0
	elapsed += 25 * time.Hour
	add("a", true, "the window is over")

	ahead = 48 * time.Hour // for good
	add("a", false, "not yet")
	elapsed += store.DuplicateFor - time.Minute
	add("a", false, "it was added a minute less than the window ago")
	elapsed += 2 * time.Minute
	add("a", true, "the window is over by any clock")
}
