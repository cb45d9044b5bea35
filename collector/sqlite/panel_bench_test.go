package sqlite_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/sqlite"
	"github.com/footfall-dev/footfall/collector/store"
)

// workload is what a site receives, and the range of the reports.
type workload struct {
	name   string
	events int
	first  time.Time // of the first event; the last one is at benchNow

	portions int // number of batches; segments of the open day are made after each
	event    func(*rand.Rand, int, time.Time) store.Event
}

var (
	today   = benchNow.Truncate(24 * time.Hour)
	monthly = today.AddDate(0, 0, 1-benchDays)
)

var workloads = []workload{
	{"month", benchEvents, monthly, 1, func(rng *rand.Rand, _ int, at time.Time) store.Event { return benchEvent(rng, at) }},
	{"large month", 10 * benchEvents, monthly, 20, func(rng *rand.Rand, _ int, at time.Time) store.Event { return benchEvent(rng, at) }},
	{"month of different paths", benchEvents, monthly, 1, differentPaths},
	{"month of different values", benchEvents, monthly, 1, differentValues},
	{"today", benchEvents, today, 50, func(rng *rand.Rand, _ int, at time.Time) store.Event { return benchEvent(rng, at) }},
	{"today of different paths", benchEvents, today, 50, differentPaths},
}

// differentPaths returns an event of a site on which each page is viewed once.
func differentPaths(rng *rand.Rand, i int, at time.Time) store.Event {
	path := fmt.Sprintf("/products/%07d", (i*7_654_321)%10_000_000)
	return store.Event{Site: "s", At: at, Path: path, URL: "https://shop.example" + path, Visitor: rng.Uint64N(8000) + 1}
}

// differentValues returns events that each have another prop value, as order numbers do.
func differentValues(rng *rand.Rand, i int, at time.Time) store.Event {
	return store.Event{
		Site: "s", At: at, Path: "/", URL: "https://shop.example/", Visitor: rng.Uint64N(8000) + 1, Name: "add_to_cart",
		Props: []store.Prop{{Key: "order", Value: fmt.Sprintf("%07d", (i*7_654_321)%10_000_000)}},
	}
}

func (w workload) query() store.Query {
	return store.Query{Site: "s", From: w.first, To: today.AddDate(0, 0, 1)}
}

// before returns the previous period, as the dashboard requests it.
func (w workload) before() store.Query {
	length := today.AddDate(0, 0, 1).Sub(w.first)
	return store.Query{Site: "s", From: w.first.Add(-length), To: benchNow.Add(-length)}
}

func (w workload) fill(b *testing.B, s *sqlite.Store) {
	b.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	some := make([]store.Event, w.events/w.portions)
	for portion := range w.portions {
		for i := range some {
			i += portion * len(some)
			some[i%len(some)] = w.event(rng, i, w.first.Add(time.Duration(i)*(benchNow.Sub(w.first)/time.Duration(w.events))))
		}
		require.NoError(b, sqlite.AddAll(b.Context(), s, some))
		sqlite.Settle(b, s)
	}
}

// BenchmarkPanel measures each report of a site's pages, and the reports of its main page
// together, in sequence and concurrently.
func BenchmarkPanel(b *testing.B) {
	for _, w := range workloads {
		b.Run(w.name, func(b *testing.B) {
			s := open(b, filepath.Join(b.TempDir(), "events.db"), func() time.Time { return benchNow })
			defer func() { require.NoError(b, s.Close()) }()
			w.fill(b, s)
			b.Logf("%d rollups and %d segments", sqlite.Rollups(b, s), sqlite.Segments(b, s))
			for _, r := range benchReports {
				b.Run(r.name, func(b *testing.B) {
					for b.Loop() {
						require.NoError(b, r.ask(b.Context(), s, w.query()))
					}
				})
			}
			b.Run("page", func(b *testing.B) { w.page(b, s, func(ask func()) { ask() }) })
			b.Run("page at once", func(b *testing.B) {
				var asking sync.WaitGroup
				w.page(b, s, asking.Go)
				asking.Wait()
			})
		})
	}
}

// page requests the reports of a site's main page.
func (w workload) page(b *testing.B, s store.Store, run func(func())) {
	for b.Loop() {
		w.onePage(b, s, run)
	}
}

func (w workload) onePage(b *testing.B, s store.Store, run func(func())) {
	var all sync.WaitGroup
	for _, ask := range w.questions() {
		all.Add(1)
		run(func() {
			defer all.Done()
			if err := ask(b.Context(), s); err != nil {
				b.Error(err)
			}
		})
	}
	all.Wait()
}

func (w workload) questions() []func(context.Context, store.Store) error {
	all := []func(context.Context, store.Store) error{
		func(ctx context.Context, s store.Store) error { _, err := s.Totals(ctx, w.query()); return err },
		func(ctx context.Context, s store.Store) error { _, err := s.Totals(ctx, w.before()); return err },
		func(ctx context.Context, s store.Store) error {
			_, err := s.Series(ctx, w.query(), store.Day)
			return err
		},
	}
	for _, d := range store.Dimensions() {
		if _, both := d.Twin(); both && d.Counts == store.Events {
			continue // the main page has one of the two
		}
		all = append(all, func(ctx context.Context, s store.Store) error {
			_, err := s.Top(ctx, w.query(), d.By, 9)
			return err
		})
	}
	return all
}

// BenchmarkPageBeforeSegments measures a site's main page while the events of today are in no segment, such
// as after many came at once: if its reports read them one by one, if they have the segments made first, and
// the next page.
func BenchmarkPageBeforeSegments(b *testing.B) {
	cfg := sqlite.Config{File: filepath.Join(b.TempDir(), "events.db"), Now: func() time.Time { return benchNow }}
	s, err := sqlite.OpenWithSegments(b.Context(), cfg, 1<<30)
	require.NoError(b, err)
	defer func() { require.NoError(b, s.Close()) }()
	workloads[4].fill(b, s)
	defer sqlite.HoldCompactor(b, s)()
	page := func() time.Duration {
		began := time.Now()
		var asking sync.WaitGroup
		workloads[4].onePage(b, s, asking.Go)
		return time.Since(began)
	}
	oneByOne := page()
	sqlite.SetSegmentLength(s, 1<<14)
	first, next := page(), page()
	b.Logf("%d events: one by one %v, with segments made first %v, next %v; %d segments",
		workloads[4].events, oneByOne, first, next, sqlite.Segments(b, s))
}
