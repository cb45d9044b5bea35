package sqlite_test

import (
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/sqlite"
	"github.com/footfall-dev/footfall/collector/store"
	"github.com/footfall-dev/footfall/collector/store/storetest"
)

var (
	begin = time.Date(2026, 2, 20, 0, 0, 0, 0, time.UTC)
	end   = begin.AddDate(0, 0, 40)
)

// midday is in the last of the forty days, which is still open.
func midday() time.Time { return end.Add(-12 * time.Hour) }

// largeEvents is the number of events of the large data set.
var largeEvents = 50_000

func TestFiguresOfALargeDataSetAreThoseOfTheReference(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("50,000 events in 40 days take some seconds")
	}
	rng := rand.New(rand.NewPCG(50, 40))
	s, ref := open(t, filepath.Join(t.TempDir(), "events.db"), midday), storetest.NewReference()
	defer func() { require.NoError(t, s.Close()) }()
	ref.Now = midday
	for range 2 {
		events := storetest.RandomEvents(rng, largeEvents/2, begin, end)
		require.NoError(t, sqlite.AddAll(t.Context(), s, events))
		for _, e := range events {
			storetest.Add(t, ref, e)
		}
		storetest.Compare(t, ref, s, store.Query{Site: "s", From: begin, To: end}) // while the compactor is running
		sqlite.Settle(t, s)
		storetest.Compare(t, ref, s, store.Query{Site: "s", From: begin, To: end})
		for range 2 {
			storetest.Compare(t, ref, s, storetest.RandomQuery(rng, begin, end))
		}
	}
}

func TestFiguresAreExactAfterEventsCameLateBetweenReports(t *testing.T) {
	t.Parallel()
	s, ref := openWithSegments(t, filepath.Join(t.TempDir(), "events.db"), midday, 7), storetest.NewReference()
	defer func() { require.NoError(t, s.Close()) }()
	q := store.Query{Site: "s", From: begin, To: begin.AddDate(0, 0, 3)}
	var callers sync.WaitGroup
	for caller := range uint64(4) {
		callers.Go(func() {
			rng := rand.New(rand.NewPCG(caller, 1))
			for i, e := range storetest.RandomEvents(rng, 150, q.From, q.To) {
				e.At, e.Key = e.At.Truncate(time.Hour).Add(time.Duration(caller)*time.Minute+time.Duration(i)*time.Millisecond), ""
				storetest.Add(t, s, e)
				storetest.Add(t, ref, e)
			}
		})
	}
	for range 3 {
		callers.Go(func() {
			for range 60 {
				assert.NoError(t, sqlite.TrySettle(t.Context(), s))
				_, err := storetest.Totals(t.Context(), s, q)
				assert.NoError(t, err)
			}
		})
	}
	callers.Wait()
	storetest.Compare(t, ref, s, q)
	sqlite.Settle(t, s)
	storetest.Compare(t, ref, s, q)
	assert.Equal(t, 6, sqlite.Rollups(t, s), "three days of two sites")
}
