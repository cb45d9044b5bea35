package sqlite_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
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

// Events, segments and rollups have IDs of 32 bits. Earlier versions never used an ID again.
func TestAFileThatHasGivenOutNearlyAllTextIDsTakesEventsAndIsOpenedAgain(t *testing.T) {
	t.Parallel()
	const top = "INSERT INTO text VALUES (4294967290, 'the last one'); UPDATE event SET name = 4294967290 WHERE seq = (SELECT min(seq) FROM event)"
	for name, file := range map[string]string{
		"a new file": filepath.Join(t.TempDir(), "events.db"), "version 6": goldenFile(t, 6), "version 7": goldenFile(t, 7), "version 8": goldenFile(t, 8),
	} {
		s := open(t, file, midday)
		storetest.Add(t, s, numbered(0))
		require.NoError(t, s.Close())
		run(t, file, "UPDATE sqlite_sequence SET seq = 4294967290 WHERE name = 'text'")
		if name == "version 6" {
			file = goldenFile(t, 6)
			run(t, file, "DELETE FROM rollup; DELETE FROM packed; DELETE FROM piece; "+top)
		}
		s = open(t, file, midday)
		before := all(t, s).Events
		require.NoError(t, s.Close())
		for round := range 3 {
			s = open(t, file, midday)
			for i := range 20 {
				storetest.Add(t, s, numbered(100*(round+1)+i))
			}
			rows, err := storetest.Top(t.Context(), s, store.Query{Site: "s", From: begin, To: end}, store.Names, 1000)
			require.NoError(t, err, name)
			assert.Contains(t, rows, store.Row{Value: fmt.Sprint(100*(round+1) + 7), Count: 1}, name)
			assert.EqualValues(t, before+20*int64(round+1), all(t, s).Events, name)
			sqlite.Settle(t, s)
			require.NoError(t, s.Close())
			require.NoError(t, sqlite.Check(t.Context(), file), name)
		}
	}
}

// oldVersions are versions of the file whose ids may have more than 32 bits.
var oldVersions = []int{5, 7, 8}

// Earlier versions went on with larger IDs, and stored events that neither they nor this version could read.
func TestTextsWhoseIDsHaveMoreThan32BitsGetNewOnes(t *testing.T) {
	t.Parallel()
	q := store.Query{Site: "s", From: begin.AddDate(-1, 0, 0), To: end.AddDate(1, 0, 0)}
	for _, version := range oldVersions {
		for name, which := range map[string]string{"some": "id % 3 = 0", "all, also of sites": "id > 0", "the sites": "value IN ('s', 't')"} {
			file := goldenFile(t, version)
			s := open(t, file, midday)
			sites, err := s.Sites(t.Context())
			require.NoError(t, err)
			q.Site = sites[0]
			want := exported(t, s, q)
			require.NotEmpty(t, want)
			require.NoError(t, s.Close())

			file = goldenFile(t, version)
			var enlarge strings.Builder
			enlarge.WriteString("INSERT INTO key SELECT id, 'the key of ' || value, 0 FROM text WHERE value IN ('s', 't'); DELETE FROM rollup; DELETE FROM packed; DELETE FROM piece;")
			columns := []string{"event.site", "event.origin", "event.name", "event.path", "event.referrer", "event.source", "event.medium", "event.campaign", "key.site"}
			for _, column := range columns {
				table, column, _ := strings.Cut(column, ".")
				fmt.Fprintf(&enlarge, "UPDATE %s SET %s = %[2]s + 5000000000 WHERE %[2]s IN (SELECT id FROM text WHERE %s);", table, column, which)
			}
			run(t, file, enlarge.String()+"UPDATE text SET id = id + 5000000000 WHERE "+which)
			for range 2 {
				s = open(t, file, midday)
				require.Equal(t, want, exported(t, s, q), "version %d, %s", version, name)
				assert.Less(t, sqlite.Scalar[int64](t, s, "SELECT max(id) FROM text"), int64(65536))
				assert.Zero(t, sqlite.Scalar[int](t, s, "SELECT count(*) FROM block WHERE id > 0"))
				assert.Zero(t, sqlite.Scalar[int](t, s, "SELECT count(*) FROM key WHERE site NOT IN (SELECT site FROM event)"))
				sqlite.Settle(t, s)
				sqlite.Sweep(t, s)
				require.NoError(t, s.Close())
				require.NoError(t, sqlite.Check(t.Context(), file), "version %d, %s", version, name)
			}
			s = open(t, file, midday)
			storetest.Add(t, s, numbered(0))
			require.NoError(t, s.Close())
			require.NoError(t, sqlite.Check(t.Context(), file))
		}
	}
}

// full returns a store that has all the texts that it can, of events with the names 0 to last.
func full(t *testing.T, file string) (s *sqlite.Store, last int) {
	t.Helper()
	s = open(t, file, midday)
	t.Cleanup(func() { _ = s.Close() })
	sqlite.LimitIDs(t, s, 8, 4)
	for ; ; last++ {
		if _, err := s.Add(t.Context(), at(last)); err != nil {
			require.EqualError(t, err, "sqlite: "+file+": has as many different texts, such as paths and names, as it can: delete a site, or set a retention")
			return s, last - 1
		}
	}
}

// at returns the event whose name is a number, on its own day.
func at(n int) store.Event {
	e := numbered(n)
	e.At = begin.AddDate(0, 0, n%packedDays)
	return e
}

func TestOnlyEventsWithNewTextsAreRefusedWhenNoIDIsFree(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "events.db")
	s, last := full(t, file)
	assert.Equal(t, 4*8-1-3-1, last, "there is an ID for each other than site, origin, path and the empty text")
	for round := range 2 {
		restart := sqlite.HoldSweeper(t, s)
		release := sqlite.Hold(t, s)
		var callers sync.WaitGroup
		var refused atomic.Int64
		for i := range 20 { // one transaction; half of its events get no ID
			callers.Go(func() {
				e := at(last - 9 + i)
				e.Key = fmt.Sprint(round, " ", i)
				if _, err := s.Add(t.Context(), e); err != nil {
					refused.Add(1)
				}
			})
		}
		waiting(t, s, 20)
		release()
		callers.Wait()
		restart()
		assert.EqualValues(t, 10, refused.Load())
		assert.EqualValues(t, last+1+10*(round+1), all(t, s).Events)
		rows, err := storetest.Top(t.Context(), s, store.Query{Site: "s", From: begin, To: end}, store.Names, 1000)
		require.NoError(t, err)
		assert.Len(t, rows, last+1)
		sqlite.Settle(t, s)
		require.NoError(t, s.Close())
		require.NoError(t, sqlite.Check(t.Context(), file))
		s = open(t, file, midday)
		sqlite.LimitIDs(t, s, 8, 4)
	}
	e := at(last + 1)
	e.Key = "0 19" // of an event that was refused
	assert.NoError(t, s.Full(), "not known before an event is refused")
	_, err := s.Add(t.Context(), e)
	require.Error(t, err)
	assert.Equal(t, err, s.Full())
	storetest.Add(t, s, at(last))
	assert.Error(t, s.Full(), "although an event was stored")
	require.NoError(t, s.Forget(t.Context(), "s", begin.AddDate(0, 0, 1)))
	sqlite.Sweep(t, s)
	assert.NoError(t, s.Full())
	added, err := s.Add(t.Context(), e)
	require.NoError(t, err)
	assert.True(t, added, "it was not there")
	require.NoError(t, s.Close())
	require.NoError(t, sqlite.Check(t.Context(), file))
}

// No block has free IDs, and all of the current one are in use.
const noFreeIDs = `INSERT OR IGNORE INTO block WITH RECURSIVE n (id) AS (SELECT 0 UNION ALL SELECT id + 1 FROM n WHERE id < 61439) SELECT id, 0 FROM n;
	UPDATE block SET free = 0;
	UPDATE counter SET value = 61439 WHERE name = 'block';
	INSERT INTO text WITH RECURSIVE n (id) AS (SELECT 61439 << 16 UNION ALL SELECT id + 1 FROM n WHERE id < (61440 << 16) - 1) SELECT id, 'text ' || id FROM n`

func TestAStoreWithoutFreeIDsSaysSoFromItsStart(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "events.db")
	s := open(t, file, midday)
	storetest.Add(t, s, numbered(0))
	assert.NoError(t, s.Full())
	require.NoError(t, s.Close())
	run(t, file, noFreeIDs)
	for range 2 {
		s = open(t, file, midday)
		assert.ErrorContains(t, s.Full(), "as many different texts", "before an event is refused")
		storetest.Add(t, s, numbered(0))
		require.NoError(t, s.Close())
	}
	for name, room := range map[string]string{
		"in the current block": "DELETE FROM text WHERE id = (61439 << 16) + 5",
		"in another block":     "UPDATE block SET free = 1 WHERE id = 7",
		"a new block":          "DELETE FROM block WHERE id = 7",
	} {
		run(t, file, room)
		s = open(t, file, midday)
		assert.NoError(t, s.Full(), name)
		require.NoError(t, s.Close())
		run(t, file, noFreeIDs[:strings.Index(noFreeIDs, "INSERT INTO text")]+"INSERT OR IGNORE INTO text VALUES ((61439 << 16) + 5, 'another')")
	}
}

func TestATransactionThatFailsLeavesAStoreWithoutFreeIDsFull(t *testing.T) {
	t.Parallel()
	s, last := full(t, filepath.Join(t.TempDir(), "events.db"))
	failed := errors.New("failed")
	require.ErrorIs(t, sqlite.AddAndFail(t.Context(), s, []store.Event{at(last)}, failed), failed)
	assert.Error(t, s.Full())
	require.NoError(t, s.Forget(t.Context(), "s", begin.AddDate(0, 0, 1)))
	sqlite.Sweep(t, s)
	require.ErrorIs(t, sqlite.AddAndFail(t.Context(), s, []store.Event{at(last)}, failed), failed)
	assert.NoError(t, s.Full())
}

// Readers know the texts of the IDs that are used again.
func TestFiguresAreRightWhenIDsOfTextsAreUsedAgain(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "events.db")
	s, last := full(t, file)
	ref := storetest.NewReference()
	for i := range last + 1 {
		storetest.Add(t, ref, at(i))
	}
	q := store.Query{Site: "s", From: begin, To: end}
	next := last + 1
	for round := range 3 * packedDays {
		storetest.Compare(t, ref, s, q)
		before := begin.AddDate(0, 0, round%packedDays+1)
		for _, st := range []store.Store{s, ref} {
			require.NoError(t, st.Forget(t.Context(), "s", before))
		}
		sqlite.Sweep(t, s)
		for ; ; next++ {
			if _, err := s.Add(t.Context(), at(next)); err != nil {
				break
			}
			storetest.Add(t, ref, at(next))
		}
		storetest.Compare(t, ref, s, q)
		if round%3 == 0 {
			sqlite.Settle(t, s)
		}
	}
	assert.Greater(t, next, 3*last)
	require.NoError(t, s.Close())
	require.NoError(t, sqlite.Check(t.Context(), file))
}

// IDs are used again long before all are given out, so that sets of IDs stay small.
func TestTheIDsOfTextsDoNotGrowWhileOldEventsAreRemoved(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	sqlite.LimitIDs(t, s, 64, 1<<20)
	for day := range 40 {
		for i := range 50 {
			e := numbered(1000*day + i)
			e.At = begin.AddDate(0, 0, day)
			storetest.Add(t, s, e)
		}
		require.NoError(t, s.Forget(t.Context(), "s", begin.AddDate(0, 0, day-1)))
		sqlite.Sweep(t, s)
	}
	assert.Less(t, sqlite.Scalar[int](t, s, "SELECT max(id) FROM text"), 5*64)
}

func TestARestartGoesOnWithTheCurrentBlockOfIDs(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "events.db")
	for i := range 20 {
		s := open(t, file, midday)
		sqlite.LimitIDs(t, s, 8, 1<<20)
		storetest.Add(t, s, numbered(i))
		assert.Equal(t, 4+i, sqlite.Scalar[int](t, s, "SELECT max(id) FROM text"))
		require.NoError(t, s.Close())
	}
}

// A transaction that fails gives its IDs back.
func TestIDsOfATransactionThatFailedAreFree(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	sqlite.LimitIDs(t, s, 8, 4)
	for range 10 {
		failed := errors.New("failed")
		require.ErrorIs(t, sqlite.AddAndFail(t.Context(), s, []store.Event{numbered(1), numbered(2), numbered(3)}, failed), failed)
	}
	for i := range 20 {
		storetest.Add(t, s, numbered(i))
	}
	assert.EqualValues(t, 20, all(t, s).Events)
	require.NoError(t, s.Forget(t.Context(), "s", time.Time{}))
}

// A reader knows the text of an ID. A transaction that finds the ID free fails, and the next one uses
// it.
func TestAnIDThatATransactionThatFailedFoundFreeHasItsNewText(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	sqlite.LimitIDs(t, s, 8, 1)
	names := func() (all []string) {
		rows, err := storetest.Top(t.Context(), s, store.Query{Site: "s", From: begin, To: end}, store.Names, 10)
		require.NoError(t, err)
		for _, row := range rows {
			all = append(all, row.Value)
		}
		return all
	}
	kept := numbered(0)
	kept.At = begin.AddDate(0, 0, 2)
	for _, e := range []store.Event{kept, numbered(1), numbered(2), numbered(3)} { // with site, origin and path all IDs
		storetest.Add(t, s, e)
	}
	require.Equal(t, []string{"0", "1", "2", "3"}, names())
	require.NoError(t, s.Forget(t.Context(), "s", begin.AddDate(0, 0, 1)))
	sqlite.Sweep(t, s)
	failed := errors.New("failed")
	require.ErrorIs(t, sqlite.AddAndFail(t.Context(), s, []store.Event{numbered(4)}, failed), failed)
	storetest.Add(t, s, numbered(5))
	assert.Equal(t, []string{"0", "5"}, names())
}

func TestTheTextsOfAnEventThatIsRefusedAreRemoved(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	sqlite.LimitIDs(t, s, 8, 1)
	for i := range 3 {
		storetest.Add(t, s, numbered(i))
	}
	e := numbered(3) // with two new texts, for which one ID is left
	e.Campaign = "spring"
	_, err := s.Add(t.Context(), e)
	require.ErrorContains(t, err, "as many different texts")
	require.NoError(t, sqlite.Check(t.Context(), fileOf(t, s)))
	require.NoError(t, s.Forget(t.Context(), "another", time.Time{}))
	sqlite.Sweep(t, s)
	assert.Equal(t, "/ 0 1 2 https://s.example s", texts(t, s))
	assert.EqualValues(t, 3, all(t, s).Events)
}
