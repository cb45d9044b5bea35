package sqlite_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/sqlite"
	"github.com/footfall-dev/footfall/collector/store"
	"github.com/footfall-dev/footfall/collector/store/storetest"
)

func TestForgetRemovesTextsThatNoEventHas(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	kept, gone := numbered(1), numbered(2)
	kept.At, gone.Referrer, gone.Path = begin.AddDate(0, 0, 3), "gone.example", "/gone"
	storetest.Add(t, s, kept)
	storetest.Add(t, s, gone)
	sqlite.Settle(t, s)
	require.Equal(t, 2, sqlite.Rollups(t, s))
	require.NoError(t, s.Forget(t.Context(), "s", begin.AddDate(0, 0, 2)))
	assert.Equal(t, 1, sqlite.Rollups(t, s))
	assert.Equal(t, 1, sqlite.Segments(t, s))
	sqlite.Sweep(t, s)
	assert.Equal(t, "/ 1 https://s.example s", texts(t, s))
	storetest.Add(t, s, gone)
	assert.EqualValues(t, 2, all(t, s).Events)
}

func texts(t *testing.T, s *sqlite.Store) string {
	t.Helper()
	return sqlite.Scalar[string](t, s, "SELECT coalesce(group_concat(value, ' '), '') FROM (SELECT value FROM text ORDER BY value)")
}

// An event may use a text again before each step of the sweep that would remove the text.
func TestATextThatIsUsedAgainWhileUnusedOnesAreRemovedStays(t *testing.T) {
	t.Parallel()
	again := numbered(1)
	again.At = begin.AddDate(0, 0, 9)
	steps := 1
	for used := 0; used < steps; used++ {
		s := newStore(t)
		defer sqlite.HoldSweeper(t, s)()
		sqlite.LimitSweep(s, 2, 1)
		for i := range 6 {
			storetest.Add(t, s, numbered(i))
		}
		require.NoError(t, s.Forget(t.Context(), "s", begin.AddDate(0, 0, 1)))
		steps = 0
		for more := true; more; steps++ {
			if steps == used {
				storetest.Add(t, s, again)
			}
			more = sqlite.SweepStep(t, s)
		}
		rows, err := storetest.Top(t.Context(), s, store.Query{Site: "s", From: begin, To: end}, store.Names, 10)
		require.NoError(t, err)
		assert.Equal(t, []store.Row{{Value: "1", Count: 1}}, rows, "used again before step %d", used)
		assert.Equal(t, "/ 1 https://s.example s", texts(t, s))
		require.NoError(t, sqlite.Check(t.Context(), fileOf(t, s)))
	}
	assert.Greater(t, steps, 10)
}

// The sweep has read the last event of a text, and the event is removed before the sweep writes that
// it found the text.
func TestATextWhoseLastEventIsRemovedDuringAStepOfASweepIsRemovedByTheNext(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	defer sqlite.HoldSweeper(t, s)()
	for day := range 2 {
		e := numbered(1)
		e.At = begin.AddDate(0, 0, day)
		storetest.Add(t, s, e)
	}
	require.NoError(t, s.Forget(t.Context(), "s", begin.AddDate(0, 0, 1)))
	sqlite.SweepStep(t, s) // begins
	sqlite.SweepStep(t, s) // reads the texts

	release := sqlite.Hold(t, s)
	var running sync.WaitGroup
	running.Go(func() { assert.NoError(t, s.Forget(t.Context(), "s", begin.AddDate(0, 0, 2))) })
	waiting(t, s, 1)
	running.Go(func() { sqlite.SweepStep(t, s) }) // reads the events
	waiting(t, s, 2)
	release()
	running.Wait()
	for sqlite.SweepStep(t, s) {
	}
	assert.Empty(t, texts(t, s))
	require.NoError(t, sqlite.Check(t.Context(), fileOf(t, s)))
}

func fileOf(t *testing.T, s *sqlite.Store) string {
	t.Helper()
	return sqlite.Scalar[string](t, s, "SELECT file FROM pragma_database_list WHERE name = 'main'")
}

// The steps of a sweep read all events once, however many sites lost some.
func TestASweepReadsTheEventsOnceForAllSites(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	defer sqlite.HoldSweeper(t, s)()
	const sites, perSite, rows = 40, 50, 100
	sqlite.LimitSweep(s, rows, 1000)
	var events []store.Event
	for site := range sites {
		for i := range perSite {
			e := numbered(i)
			e.Site, e.Path = fmt.Sprint("site ", site), fmt.Sprint("/", site, "/", i)
			e.At = begin.AddDate(0, 0, i%2)
			events = append(events, e)
		}
	}
	require.NoError(t, sqlite.AddAll(t.Context(), s, events))
	for site := range sites {
		require.NoError(t, s.Forget(t.Context(), fmt.Sprint("site ", site), begin.AddDate(0, 0, 1)))
	}
	steps := 1
	for sqlite.SweepStep(t, s) {
		steps++
	}
	const left = sites * perSite / 2
	assert.LessOrEqual(t, steps, 3*left/rows, "for the texts to remove, for the events that are left, and the rest")
	assert.Equal(t, left, sqlite.Scalar[int](t, s, "SELECT count(*) FROM text WHERE value LIKE '/%'"))
}

func TestADeletedSiteLeavesNoKeysAndNotItsID(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	for i := range 10 {
		e := numbered(i)
		e.Key = fmt.Sprint("key ", i)
		storetest.Add(t, s, e)
	}
	require.NoError(t, s.Forget(t.Context(), "s", begin.AddDate(0, 0, 9)))
	sqlite.Sweep(t, s)
	assert.Equal(t, "s", texts(t, s), "keys are remembered")
	require.NoError(t, sqlite.Check(t.Context(), fileOf(t, s)))
	require.NoError(t, s.Forget(t.Context(), "s", time.Time{}))
	sqlite.Sweep(t, s)
	assert.Zero(t, sqlite.Scalar[int](t, s, "SELECT count(*) FROM key"))
	assert.Empty(t, texts(t, s))
}

func TestForgetOfASiteThatDoesNotExistAddsNoText(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	require.NoError(t, s.Forget(t.Context(), "never seen", time.Time{}))
	assert.Empty(t, texts(t, s))
}

// Earlier versions left texts in the file if they were killed while they removed events.
func TestTextsThatAnEarlierVersionLeftAreRemoved(t *testing.T) {
	t.Parallel()
	const lastWithout = 6
	for version := range lastWithout {
		file := goldenFile(t, version+1)
		run(t, file, "DELETE FROM event; DELETE FROM key")
		left, err := sqlite.Unswept(t.Context(), file)
		require.NoError(t, err)
		assert.NotZero(t, left)
		s := open(t, file, midday)
		release := sqlite.HoldSweeper(t, s)
		sqlite.LimitSweep(s, 7, 3)
		release()
		sqlite.Sweep(t, s)
		assert.Empty(t, texts(t, s), "version %d", version+1)
		require.NoError(t, s.Close())
		left, err = sqlite.Unswept(t.Context(), file)
		require.NoError(t, err)
		assert.Zero(t, left)
	}
}

// TestSweepsRemoveExactlyTheTextsThatNoEventUses adds and removes events between the steps of sweeps,
// and now and then opens the file as a crash left it.
func TestSweepsRemoveExactlyTheTextsThatNoEventUses(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			sweepAtRandom(t, rand.New(rand.NewPCG(seed, 3)))
		})
	}
}

// sweepTurns is the number of random changes in a test.
var sweepTurns = 300

func sweepAtRandom(t *testing.T, rng *rand.Rand) {
	file, ref := filepath.Join(t.TempDir(), "events.db"), storetest.NewReference()
	s, hold := openHeld(t, file)
	for range sweepTurns {
		site := fmt.Sprint("site ", rng.IntN(4))
		switch n := rng.IntN(20); {
		case n < 8:
			for _, e := range storetest.RandomEvents(rng, 1+rng.IntN(10), begin, end) {
				e.Site, e.Path, e.Key = site, fmt.Sprint("/", rng.IntN(50)), ""
				e.URL = "https://" + site[5:] + ".example" + e.Path
				storetest.Add(t, s, e)
				storetest.Add(t, ref, e)
			}
		case n < 11:
			before := begin.AddDate(0, 0, rng.IntN(packedDays))
			if rng.IntN(3) == 0 {
				before = time.Time{}
			}
			require.NoError(t, s.Forget(t.Context(), site, before))
			require.NoError(t, ref.Forget(t.Context(), site, before))
		case n < 18:
			sqlite.SweepStep(t, s)
		case n < 19:
			q := store.Query{Site: site, From: begin, To: end}
			want, err := storetest.Top(t.Context(), ref, q, store.Pages, 100)
			require.NoError(t, err)
			got, err := storetest.Top(t.Context(), s, q, store.Pages, 100)
			require.NoError(t, err)
			require.ElementsMatch(t, want, got)
		default:
			crashed := copyOf(t, s, file)
			hold()
			require.NoError(t, s.Close())
			s, hold = openHeld(t, crashed)
			file = crashed
		}
	}
	for sqlite.SweepStep(t, s) {
	}
	require.NoError(t, sqlite.Check(t.Context(), file))
	for site := range 4 {
		storetest.Compare(t, ref, s, store.Query{Site: fmt.Sprint("site ", site), From: begin, To: end})
	}
	left, err := sqlite.Unswept(t.Context(), file)
	require.NoError(t, err)
	assert.Zero(t, left)
	hold()
	require.NoError(t, s.Close())
}

func openHeld(t *testing.T, file string) (s *sqlite.Store, hold func()) {
	t.Helper()
	s = open(t, file, midday)
	hold = sqlite.HoldSweeper(t, s)
	sqlite.LimitSweep(s, 8, 3)
	sqlite.LimitIDs(t, s, 8, 1<<20)
	return s, hold
}

// copyOf returns a copy of the file of an open store with its log, as a crash leaves them.
func copyOf(t *testing.T, s *sqlite.Store, file string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "events.db")
	defer sqlite.Hold(t, s)()
	for _, suffix := range []string{"", "-wal", "-id"} {
		data, err := os.ReadFile(file + suffix)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(to+suffix, data, 0o600))
	}
	return to
}

func TestCheckFindsTextsThatNoSweepRemoves(t *testing.T) {
	t.Parallel()
	s, file := packed(t)
	sqlite.Sweep(t, s)
	require.NoError(t, s.Close())
	run(t, file, "INSERT INTO text (value) VALUES ('/secret'), ('/other')")
	err := sqlite.Check(t.Context(), file)
	require.ErrorContains(t, err, "has 2 texts that no event uses and that would never be removed")
	assert.False(t, strings.Contains(err.Error(), "secret"))
	run(t, file, "INSERT INTO unswept SELECT id, 1 FROM text WHERE value IN ('/secret', '/other')")
	require.NoError(t, sqlite.Check(t.Context(), file))
	left, err := sqlite.Unswept(t.Context(), file)
	require.NoError(t, err)
	assert.EqualValues(t, 2, left)
}

// SQLite leaves copies of rows in pages when it splits them.
func TestASweepBlanksThePagesOfTheFile(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	release := sqlite.HoldSweeper(t, s)
	random := rand.New(rand.NewPCG(1, 1))
	var events []store.Event
	for i := range 20_000 {
		e := numbered(i)
		e.Site, e.At = fmt.Sprint(random.IntN(5)), begin.Add(time.Duration(random.IntN(1e6))*time.Second)
		e.URL = fmt.Sprint("https://s.example/?", random.Int())
		events = append(events, e)
	}
	require.NoError(t, sqlite.AddAll(t.Context(), s, events))
	sqlite.Settle(t, s)
	require.NoError(t, s.Forget(t.Context(), "1", time.Time{}))
	require.NotZero(t, sqlite.Slack(t, s), "else nothing is tested")
	release()
	sqlite.Sweep(t, s)
	assert.Zero(t, sqlite.Slack(t, s))
	assert.NoError(t, sqlite.Check(t.Context(), fileOf(t, s)))
}
