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
	{"large month", 10 * benchEvents, monthly, 20, withRare},
	{"month of different paths", benchEvents, monthly, 1, differentPaths},
	{"month of different values", benchEvents, monthly, 1, differentValues},
	{"today", benchEvents, today, 50, func(rng *rand.Rand, _ int, at time.Time) store.Event { return benchEvent(rng, at) }},
	{"today of different paths", benchEvents, today, 50, differentPaths},
}

// withRare puts one in 100,000 events on a rare page.
func withRare(rng *rand.Rand, i int, at time.Time) store.Event {
	e := benchEvent(rng, at)
	if i%100_000 == 0 {
		e.Path = "/rare"
	}
	return e
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
			b.Run("page", func(b *testing.B) {
				for b.Loop() {
					w.page(b, s)
				}
			})
			b.Run("page in Kathmandu", func(b *testing.B) {
				zone, err := time.LoadLocation("Asia/Kathmandu")
				require.NoError(b, err)
				for b.Loop() {
					for _, q := range []store.Query{w.query(), w.before()} {
						q.Zone = zone
						_, err := s.Ask(b.Context(), q, w.figures()...)
						require.NoError(b, err)
					}
				}
			})
			b.Run("page compared", func(b *testing.B) {
				for b.Loop() {
					w.compared(b, s)
				}
			})
			for name, filter := range filters {
				b.Run("page with "+name, func(b *testing.B) {
					for b.Loop() {
						for _, q := range []store.Query{w.query(), w.before()} {
							q.Filter = filter
							_, err := s.Ask(b.Context(), q, w.figures()...)
							require.NoError(b, err)
						}
					}
				})
			}
		})
	}
}

// filters are conditions on the events of benchEvent.
var filters = map[string]store.Filter{
	"a page":           {{Field: store.Path, Op: store.Is, Values: []string{"/cart"}}},
	"a campaign":       {{Field: store.Campaign, Op: store.Is, Values: []string{"week-3"}}},
	"not a browser":    {{Field: store.Browser, Op: store.IsNot, Values: []string{"Firefox"}}},
	"part of a page":   {{Field: store.Path, Op: store.Contains, Values: []string{"products/1"}}},
	"a prop":           {{Field: store.PropOf, Key: "plan", Op: store.Is, Values: []string{"pro"}}},
	"a goal":           {{Field: store.Goal, Op: store.Is, Goals: []store.Match{{Event: "add_to_cart"}}}},
	"a rare page":      {{Field: store.Path, Op: store.Is, Values: []string{"/rare"}}},
	"three conditions": {{Field: store.Path, Op: store.Contains, Values: []string{"products"}}, {Field: store.Campaign, Op: store.IsNot, Values: []string{"week-3"}}, {Field: store.Goal, Op: store.Is, Goals: []store.Match{{Event: "add_to_cart"}}}},
}

// figures are the questions of a site's main page.
func (w workload) figures() []store.Question {
	all := []store.Question{{}, {Step: store.Day}}
	for _, d := range store.Dimensions() {
		all = append(all, store.Question{Counts: d.Counts, By: d.Field, Limit: 8})
	}
	return all
}

// page asks for the figures of a site's main page.
func (w workload) page(b *testing.B, s store.Store) {
	_, err := s.Ask(b.Context(), w.query(), w.figures()...)
	require.NoError(b, err)
	_, err = s.Ask(b.Context(), w.before(), store.Question{})
	require.NoError(b, err)
}

// compared asks for the figures of a site's main page, and then for its rows and its chart in the same time again, as a page
// that compares two times of as many events.
func (w workload) compared(b *testing.B, s store.Store) {
	answers, err := s.Ask(b.Context(), w.query(), w.figures()...)
	require.NoError(b, err)
	then := w.figures()
	for i, answer := range answers {
		for _, row := range answer.Rows {
			then[i].Values = append(then[i].Values, row.Value)
		}
		then[i].Limit = min(then[i].Limit, len(answer.Rows))
	}
	_, err = s.Ask(b.Context(), w.query(), then...)
	require.NoError(b, err)
	_, err = s.Ask(b.Context(), w.query(), store.Question{Step: store.Day})
	require.NoError(b, err)
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
		workloads[4].page(b, s)
		return time.Since(began)
	}
	oneByOne := page()
	sqlite.SetSegmentLength(s, 1<<14)
	first, next := page(), page()
	b.Logf("%d events: one by one %v, with segments made first %v, next %v; %d segments",
		workloads[4].events, oneByOne, first, next, sqlite.Segments(b, s))
}
