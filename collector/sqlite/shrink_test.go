package sqlite_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/sqlite"
	"github.com/footfall-dev/footfall/collector/store"
)

// Pages of the file, as SQLite counts them.
const (
	pagesQuery = "SELECT page_count FROM pragma_page_count"
	freeQuery  = "SELECT freelist_count FROM pragma_freelist_count"
)

// addLong adds events of two sites, which have half of the file each.
func addLong(t *testing.T, s *sqlite.Store) {
	t.Helper()
	for _, site := range []string{"kept", "gone"} {
		var events []store.Event
		for i := range 2000 {
			path := fmt.Sprint("/", site, "/", i)
			events = append(events, store.Event{
				Site: site, At: begin.Add(time.Duration(i) * time.Minute), URL: "https://s.example" + path, Path: path,
				Props: []store.Prop{{Key: "note", Value: fmt.Sprint(path, " of an event that takes some room in the file, so that it has more pages")}},
			})
		}
		require.NoError(t, sqlite.AddAll(t.Context(), s, events))
	}
	sqlite.Settle(t, s)
}

func sizeOf(t *testing.T, file string) int {
	t.Helper()
	info, err := os.Stat(file)
	require.NoError(t, err)
	return int(info.Size())
}

func TestSpaceOfRemovedEventsIsGivenBackInPieces(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "events.db")
	s := open(t, file, midday)
	defer sqlite.HoldSweeper(t, s)()
	const piece, least = 10, 20
	sqlite.LimitSpace(s, piece, least)
	addLong(t, s)
	require.NoError(t, s.Scrub(t.Context()))
	before := sizeOf(t, file)
	require.NoError(t, s.Forget(t.Context(), "gone", time.Time{}))
	pieces := 0
	for more := true; more; {
		was := sqlite.Scalar[int](t, s, pagesQuery)
		more = sqlite.SweepStep(t, s)
		given := was - sqlite.Scalar[int](t, s, pagesQuery)
		assert.LessOrEqual(t, given, piece+1, "and perhaps a page of the file's own")
		if given > 0 {
			pieces++
		}
	}
	assert.Greater(t, pieces, 5)
	assert.Less(t, sizeOf(t, file), before*2/3)
	free, pages := sqlite.Scalar[int](t, s, freeQuery), sqlite.Scalar[int](t, s, pagesQuery)
	assert.LessOrEqual(t, free, max(least, pages/8))
	assert.Greater(t, free, least/2, "some stay for new events")
	assert.EqualValues(t, free*4096, statsOf(t, s).FreeBytes)
	require.NoError(t, s.Close())
	require.NoError(t, sqlite.Check(t.Context(), file))
}

// A file of an earlier version cannot give space back. It can after a backup was restored.
func TestAFileOfAnEarlierVersionGivesSpaceBackAfterARestore(t *testing.T) {
	t.Parallel()
	file := goldenFile(t, 6)
	forget := func() (given int) {
		s := open(t, file, midday)
		release := sqlite.HoldSweeper(t, s)
		sqlite.LimitSpace(s, 10, 5)
		release()
		addLong(t, s)
		before := sqlite.Scalar[int](t, s, pagesQuery)
		require.NoError(t, s.Forget(t.Context(), "gone", time.Time{}))
		sqlite.Sweep(t, s)
		given = before - sqlite.Scalar[int](t, s, pagesQuery)
		require.NoError(t, s.Close())
		return given
	}
	assert.Zero(t, forget())
	backup := filepath.Join(t.TempDir(), "backup.db")
	require.NoError(t, sqlite.Backup(t.Context(), file, backup))
	_, err := sqlite.Restore(t.Context(), file, backup, nil)
	require.NoError(t, err)
	assert.NotZero(t, forget())
	require.NoError(t, sqlite.Check(t.Context(), file))
}

func TestSpaceIsGivenBackWithoutASweep(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "events.db")
	s := open(t, file, midday)
	defer func() { require.NoError(t, s.Close()) }()
	sqlite.PlantRandomKeys(t, s, 5000, begin)
	require.NoError(t, s.Scrub(t.Context()))
	before := sizeOf(t, file)
	sqlite.Exec(t, s, "DELETE FROM key")
	defer sqlite.HoldSweeper(t, s)()
	sqlite.LimitSpace(s, 10, 20)
	for sqlite.SweepStep(t, s) {
	}
	assert.Less(t, sizeOf(t, file), before/2)
}
