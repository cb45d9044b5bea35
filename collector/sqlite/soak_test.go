//go:build soak

package sqlite_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/sqlite"
	"github.com/footfall-dev/footfall/collector/store"
	"github.com/footfall-dev/footfall/collector/store/storetest"
)

// The last of the forty days is open and has as many events as all others together.
func TestSoakFiguresOfAMillionEventsAreThoseOfTheReference(t *testing.T) {
	rng := rand.New(rand.NewPCG(40, 1_000_000))
	s, ref := open(t, filepath.Join(t.TempDir(), "events.db"), midday), storetest.NewReference()
	defer func() { require.NoError(t, s.Close()) }()
	lastDay := end.AddDate(0, 0, -1)
	add := func(n int, from, to time.Time) {
		events := soakEvents(rng, n, from, to)
		require.NoError(t, sqlite.AddAll(t.Context(), s, events))
		for _, e := range events {
			storetest.Add(t, ref, e)
		}
	}
	add(500_000, begin, lastDay)
	add(500_000, lastDay, midday())
	sqlite.Settle(t, s)
	t.Logf("%d rollups and %d segments", sqlite.Rollups(t, s), sqlite.Segments(t, s))
	compare(t, ref, s, store.Query{Site: "s", From: begin, To: end})

	defer sqlite.HoldCompactor(t, s)()
	add(2_000, begin, end) // late events remove most rollups and segments
	t.Logf("%d rollups and %d segments are left", sqlite.Rollups(t, s), sqlite.Segments(t, s))
	compare(t, ref, s, store.Query{Site: "s", From: lastDay.Add(-time.Hour), To: end})
	for range 2 {
		compare(t, ref, s, storetest.RandomQuery(rng, begin, end))
	}
}

func compare(t *testing.T, ref, s store.Store, q store.Query) {
	t.Helper()
	started := time.Now()
	storetest.Compare(t, ref, s, q)
	t.Logf("all reports from %v to %v: %v", q.From, q.To, time.Since(started))
}

// soakEvents returns random events. Every other one has a unique path, and many have a rare
// visitor or value.
func soakEvents(rng *rand.Rand, n int, from, to time.Time) []store.Event {
	events := storetest.RandomEvents(rng, n, from, to)
	for i := range events {
		e := &events[i]
		e.Key = ""
		if rng.IntN(2) == 0 {
			e.Path = fmt.Sprintf("/shop/%d/p", rng.IntN(10_000_000))
			e.Campaign = fmt.Sprint(rng.IntN(100_000))
		}
		if e.Visitor != 0 && rng.IntN(3) > 0 {
			e.Visitor = rng.Uint64N(50_000) + 1
		}
		for j := range e.Props {
			if rng.IntN(4) == 0 {
				e.Props[j].Value = fmt.Sprint(rng.IntN(1_000_000))
			}
		}
	}
	return events
}
