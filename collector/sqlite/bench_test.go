package sqlite_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/sqlite"
	"github.com/footfall-dev/footfall/collector/store"
	"github.com/footfall-dev/footfall/collector/store/storetest"
)

// The benchmarks use a million events over 30 days, ending today.
const (
	benchEvents = 1_000_000
	benchDays   = 30
)

var benchNow = time.Date(2026, 3, 30, 18, 0, 0, 0, time.UTC)

// benchEvent returns a typical event of a shop: mostly pageviews, some events with props.
func benchEvent(rng *rand.Rand, at time.Time) store.Event {
	product := rng.IntN(500)
	e := store.Event{
		Site: "s", At: at, Path: fmt.Sprint("/products/", product), Referrer: [...]string{"", "", "search.example", "news.example"}[rng.IntN(4)],
		Visitor: rng.Uint64N(8000) + 1,
	}
	switch rng.IntN(10) {
	case 0:
		e.Path, e.Source, e.Medium, e.Campaign = "/", "news", "mail", fmt.Sprint("week-", rng.IntN(8))
	case 1:
		e.Path = "/cart"
	case 2:
		e.Name = "add_to_cart"
		e.Props = []store.Prop{{Key: "product", Value: fmt.Sprint(product)}, {Key: "price", Value: fmt.Sprint(product%50, ".90"), Numeric: true}}
	case 3:
		e.Name, e.Visitor, e.Path = "checkout_completed", 0, "/checkout"
		e.Props = []store.Prop{{Key: "plan", Value: [...]string{"free", "pro", "team"}[rng.IntN(3)]}, {Key: "total", Value: fmt.Sprint(rng.IntN(200)), Numeric: true}}
	}
	e.URL = "https://shop.example" + e.Path + [...]string{"", "?utm_source=news"}[rng.IntN(2)]
	return e
}

func BenchmarkAdd(b *testing.B) {
	for _, keyed := range []bool{false, true} {
		b.Run(fmt.Sprint("keys=", keyed), func(b *testing.B) {
			var callers, commits atomic.Uint64
			s, err := sqlite.Open(b.Context(), sqlite.Config{
				File: filepath.Join(b.TempDir(), "events.db"), Logger: silent, OnCommit: func(int, time.Duration) { commits.Add(1) },
			})
			require.NoError(b, err)
			defer func() { require.NoError(b, s.Close()) }()
			b.SetParallelism(32) // per core
			b.RunParallel(func(pb *testing.PB) {
				caller := callers.Add(1)
				rng := rand.New(rand.NewPCG(caller, 0))
				for n := 0; pb.Next(); n++ {
					e := benchEvent(rng, time.Now())
					if keyed {
						e.Key = fmt.Sprintf("01890a5d-ac96-774b-%04x-%012x", caller, n)
					}
					if _, err := s.Add(b.Context(), e); err != nil {
						b.Error(err)
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
			b.ReportMetric(float64(b.N)/float64(commits.Load()), "events/commit")
		})
	}
}

func BenchmarkReports(b *testing.B) {
	s := open(b, filepath.Join(b.TempDir(), "events.db"), func() time.Time { return benchNow })
	defer func() { require.NoError(b, s.Close()) }()
	fill(b, s)
	q := store.Query{Site: "s", From: benchNow.Truncate(24*time.Hour).AddDate(0, 0, 1-benchDays), To: benchNow.Truncate(24*time.Hour).AddDate(0, 0, 1)}
	part := store.Query{Site: "s", From: benchNow.AddDate(0, 0, 1-benchDays), To: benchNow}
	for _, r := range benchReports {
		b.Run(r.name, func(b *testing.B) {
			for b.Loop() {
				require.NoError(b, r.ask(b.Context(), s, q))
			}
		})
		b.Run(r.name+"/unaligned", func(b *testing.B) {
			for b.Loop() {
				require.NoError(b, r.ask(b.Context(), s, part))
			}
		})
	}
}

func fill(b *testing.B, s *sqlite.Store) {
	b.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	events := make([]store.Event, benchEvents)
	first := benchNow.Truncate(24*time.Hour).AddDate(0, 0, 1-benchDays)
	for i := range events {
		events[i] = benchEvent(rng, first.Add(time.Duration(i)*(benchNow.Sub(first)/benchEvents)))
	}
	begin := time.Now()
	require.NoError(b, sqlite.AddAll(b.Context(), s, events))
	b.Logf("a million events added: %v", time.Since(begin))
}

var benchReports = []struct {
	name string
	ask  func(context.Context, store.Store, store.Query) error
}{
	{"totals", func(ctx context.Context, s store.Store, q store.Query) error {
		_, err := storetest.Totals(ctx, s, q)
		return err
	}},
	{"series/days", func(ctx context.Context, s store.Store, q store.Query) error {
		_, err := storetest.Series(ctx, s, q, store.Day)
		return err
	}},
	{"series/hours", func(ctx context.Context, s store.Store, q store.Query) error {
		_, err := storetest.Series(ctx, s, q, store.Hour)
		return err
	}},
	{"breakdown", func(ctx context.Context, s store.Store, q store.Query) error {
		_, err := s.Ask(ctx, storetest.Named(q, "checkout_completed"),
			store.Question{Counts: store.Events, By: store.Source, Number: "total", Limit: 20}, store.Question{Counts: store.Events, By: store.Medium, Number: "total", Limit: 20},
			store.Question{Counts: store.Events, By: store.Campaign, Number: "total", Limit: 20}, store.Question{By: store.PropOf, Key: "plan", Values: []string{"pro"}, Number: "total", Limit: 20})
		return err
	}},
	{"top/pages", func(ctx context.Context, s store.Store, q store.Query) error {
		_, err := storetest.Top(ctx, s, q, store.Pages, 10)
		return err
	}},
	{"top/referrers", func(ctx context.Context, s store.Store, q store.Query) error {
		_, err := storetest.Top(ctx, s, q, store.Referrers, 10)
		return err
	}},
	{"top/campaigns", func(ctx context.Context, s store.Store, q store.Query) error {
		_, err := storetest.Top(ctx, s, q, store.Campaigns, 10)
		return err
	}},
	{"top/names", func(ctx context.Context, s store.Store, q store.Query) error {
		_, err := storetest.Top(ctx, s, q, store.Names, 10)
		return err
	}},
	{"props", func(ctx context.Context, s store.Store, q store.Query) error {
		_, err := storetest.Props(ctx, s, q, "add_to_cart", 10)
		return err
	}},
	{"count/event", func(ctx context.Context, s store.Store, q store.Query) error {
		_, err := storetest.Count(ctx, s, q, store.Match{Event: "add_to_cart"})
		return err
	}},
	{"count/pattern", func(ctx context.Context, s store.Store, q store.Query) error {
		_, err := storetest.Count(ctx, s, q, store.Match{Page: "/products/*"})
		return err
	}},
	{"count/prop", func(ctx context.Context, s store.Store, q store.Query) error {
		_, err := storetest.Count(ctx, s, q, store.Match{Event: "checkout_completed", PropKey: "plan", PropValue: "pro"})
		return err
	}},
	{"funnel", func(ctx context.Context, s store.Store, q store.Query) error {
		_, err := s.Funnel(ctx, q, []store.Match{{Page: "/"}, {Page: "/products/*"}, {Event: "add_to_cart"}, {Page: "/cart"}, {Event: "checkout_completed", PropKey: "plan", PropValue: "pro"}})
		return err
	}},
	{"recent", func(ctx context.Context, s store.Store, q store.Query) error {
		_, err := s.Recent(ctx, q, 50)
		return err
	}},
}
