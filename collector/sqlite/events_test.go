package sqlite_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/sqlite"
	"github.com/footfall-dev/footfall/collector/store"
	"github.com/footfall-dev/footfall/collector/store/storetest"
)

// exported returns the events of an export.
func exported(t testing.TB, s store.Store, q store.Query) []store.Event {
	t.Helper()
	all := []store.Event{}
	require.NoError(t, s.Export(t.Context(), q, func(e store.Event) error {
		if all = append(all, e); len(all) > 20_000 {
			return errors.New("the export does not end")
		}
		return nil
	}))
	return all
}

func TestAnExportEqualsTheReferenceForEveryLengthOfItsPages(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		rng := rand.New(rand.NewPCG(seed, 0))
		s, ref := newStore(t), storetest.NewReference()
		last := begin.Add([]time.Duration{2 * time.Millisecond, 50 * time.Millisecond, 72 * time.Hour}[seed%3])
		events := storetest.RandomEvents(rng, 120, begin, last)
		for i := range events {
			events[i].Key = ""
		}
		require.NoError(t, sqlite.AddAll(t.Context(), s, events))
		storetest.Add(t, ref, events...)
		queries := []store.Query{{Site: "s", From: begin, To: last}, {Site: "s", To: last.AddDate(1, 0, 0)}, {Site: "none", From: begin, To: last}}
		for range 4 {
			queries = append(queries, storetest.RandomQuery(rng, begin, last))
		}
		for _, page := range []int{1, 2, 3, 7, 50, 119, 1000} {
			sqlite.LimitExportPage(s, page)
			for _, q := range queries {
				require.Equal(t, exported(t, ref, q), exported(t, s, q), "seed %d, page of %d, from %v to %v", seed, page, q.From, q.To)
			}
		}
	}
}

// An export reads some events at a time. Those that are removed before it has read them are missing.
func TestAnExportDuringWhichEventsAreRemovedIsCompleteOrSaysThatItWasCut(t *testing.T) {
	t.Parallel()
	const page = 7
	complete, cut := 0, 0
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 1))
		s := newStore(t)
		last := begin.Add([]time.Duration{50 * time.Millisecond, 72 * time.Hour}[seed%2])
		events := storetest.RandomEvents(rng, 120, begin, last)
		for i := range events {
			events[i].Key = ""
		}
		require.NoError(t, sqlite.AddAll(t.Context(), s, events))
		sqlite.LimitExportPage(s, page)
		q := store.Query{Site: "s", From: begin.Add(last.Sub(begin) / 4), To: last}
		want := exported(t, s, q)
		before := want[rng.IntN(len(want))].At
		if seed%5 == 0 {
			before = time.Time{} // all of the site
		}
		during := rng.IntN(len(want))
		var got []store.Event
		err := s.Export(t.Context(), q, func(e store.Event) error {
			got = append(got, e)
			if len(got) != during+1 {
				return nil
			}
			require.NoError(t, s.Forget(t.Context(), "s", before))
			if !before.IsZero() || seed%2 == 0 {
				return nil
			}
			return sqlite.AddAll(t.Context(), s, events) // the site exists again
		})
		next := during/page*page + page // the first event that is not read yet
		if next < len(want) && (before.IsZero() || want[next].At.Before(before)) {
			require.ErrorIs(t, err, store.ErrRemoved, "seed %d", seed)
			require.Equal(t, want[:next], got, "seed %d", seed)
			cut++
			continue
		}
		require.NoError(t, err, "seed %d", seed)
		require.Equal(t, want, got, "seed %d", seed)
		complete++
	}
	assert.Greater(t, complete, 10)
	assert.Greater(t, cut, 10)
}

// The cost is the number of pages of the file that SQLite visits. An export whose pages of events
// begin at the start of the range, or of a millisecond, visits those before again.
func TestTheCostOfAnExportedEventDoesNotDependOnTheirNumber(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]func(i int) time.Duration{
		"each in a millisecond of its own": func(i int) time.Duration { return time.Duration(i) * time.Millisecond },
		"all in one millisecond":           func(int) time.Duration { return 0 },
		"1,500 in each millisecond":        func(i int) time.Duration { return time.Duration(i/1500) * time.Millisecond },
		"of many days":                     func(i int) time.Duration { return time.Duration(i) * time.Hour },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			perEvent := func(events int) float64 {
				return float64(exportCost(t, events, at)) / float64(events)
			}
			few, many := perEvent(1000), perEvent(8000)
			assert.Less(t, many, 1.5*few, "pages of the file per event, more in a higher tree")
			assert.Less(t, many, 0.3)
		})
	}
}

// exportCost returns the number of pages of the file that an export of n events visits.
func exportCost(t *testing.T, n int, at func(i int) time.Duration) (cost int) {
	t.Helper()
	s := newStore(t)
	defer sqlite.HoldCompactor(t, s)()
	var events []store.Event
	for i := range n {
		e := numbered(i % 10)
		e.At = begin.Add(at(i))
		events = append(events, e)
	}
	for some := range slices.Chunk(events, 1000) {
		require.NoError(t, sqlite.AddAll(t.Context(), s, some))
	}
	sqlite.LimitExportPage(s, 50)
	cost = sqlite.VisitedPages(t, s, func() {
		require.Len(t, exported(t, s, store.Query{Site: "s", From: begin, To: begin.AddDate(10, 0, 0)}), n)
	})
	require.NotZero(t, cost)
	return cost
}
