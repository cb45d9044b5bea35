package sqlite_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/sqlite"
	"github.com/footfall-dev/footfall/collector/store"
	"github.com/footfall-dev/footfall/collector/store/storetest"
)

// lateStore returns a store whose compactor is held, with events that are in no segment: a hundred of today and
// of yesterday, and ten of the days before. A segment has 7 events, and 56 are many.
func lateStore(t *testing.T) *sqlite.Store {
	t.Helper()
	s := openWithSegments(t, filepath.Join(t.TempDir(), "events.db"), midday, 7)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	t.Cleanup(sqlite.HoldCompactor(t, s))
	for day, n := range []int{100, 100, 10, 10} {
		for i := range n {
			e := numbered(i)
			e.At = midday().AddDate(0, 0, -day).Add(time.Duration(-i) * time.Minute)
			storetest.Add(t, s, e)
		}
	}
	return s
}

func lastDays(n int) store.Query {
	return store.Query{Site: "s", From: midday().AddDate(0, 0, -n), To: midday().Add(time.Minute)}
}

func TestAReportOfManyEventsWithoutASegmentMakesTheSegments(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		report func(s *sqlite.Store, q store.Query) error
	}{
		{"totals", func(s *sqlite.Store, q store.Query) error { _, err := storetest.Totals(t.Context(), s, q); return err }},
		{"series", func(s *sqlite.Store, q store.Query) error {
			_, err := storetest.Series(t.Context(), s, q, store.Hour)
			return err
		}},
		{"top", func(s *sqlite.Store, q store.Query) error {
			_, err := storetest.Top(t.Context(), s, q, store.Pages, 9)
			return err
		}},
		{"series of an event", func(s *sqlite.Store, q store.Query) error {
			_, err := storetest.Series(t.Context(), s, storetest.Named(q, ""), store.Hour)
			return err
		}},
		{"count", func(s *sqlite.Store, q store.Query) error {
			_, err := storetest.Count(t.Context(), s, q, store.Match{})
			return err
		}},
		{"funnel", func(s *sqlite.Store, q store.Query) error {
			_, err := s.Funnel(t.Context(), q, []store.Match{{}, {}})
			return err
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := lateStore(t)
			require.NoError(t, c.report(s, store.Query{Site: "s", From: midday().AddDate(0, 0, -9), To: midday().AddDate(0, 0, -2)}))
			assert.Zero(t, sqlite.Segments(t, s), "of earlier days")
			require.NoError(t, c.report(s, store.Query{Site: "s", From: midday().Add(-50 * time.Minute), To: midday()}))
			assert.Zero(t, sqlite.Segments(t, s), "few of the events are in the range")
			require.NoError(t, c.report(s, lastDays(9)))
			assert.Positive(t, sqlite.Segments(t, s))
		})
	}
}

func TestTheSegmentsThatAReportMakesAreExact(t *testing.T) {
	t.Parallel()
	s := lateStore(t)
	totals, err := storetest.Totals(t.Context(), s, lastDays(9))
	require.NoError(t, err)
	assert.EqualValues(t, 220, totals.Events+totals.Pageviews)
	assert.Equal(t, 1, sqlite.Rollups(t, s), "of yesterday")
	again, err := storetest.Totals(t.Context(), s, lastDays(9))
	require.NoError(t, err)
	assert.Equal(t, totals, again)
}

func TestReadingEventsMakesNoSegments(t *testing.T) {
	t.Parallel()
	s := lateStore(t)
	events, err := s.Recent(t.Context(), lastDays(9), 1000)
	require.NoError(t, err)
	assert.Len(t, events, 220)
	require.NoError(t, s.Export(t.Context(), lastDays(9), func(store.Event) error { return nil }))
	assert.Zero(t, sqlite.Segments(t, s))
}

func TestAReportIsRightIfItsSegmentsCannotBeMade(t *testing.T) {
	t.Parallel()
	s := lateStore(t)
	sqlite.LimitPages(t, s, 1)
	added := int64(220)
	for i := 0; ; i++ {
		e := numbered(i)
		e.At = midday()
		if _, err := s.Add(t.Context(), e); err != nil {
			break // the disk is full
		}
		added++
	}
	totals, err := storetest.Totals(t.Context(), s, lastDays(9))
	require.NoError(t, err)
	assert.Equal(t, added, totals.Events+totals.Pageviews)
	assert.Less(t, sqlite.Segments(t, s), int(added-120)/7, "of today alone")
}
