package storetest

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/store"
)

// Run tests an implementation of store.Store. open returns a new, empty store with the given
// clock; Run closes it.
func Run(t *testing.T, open func(t *testing.T, now func() time.Time) store.Store) {
	for _, group := range [][]promise{
		adding, duplicates, figures, tops, filters, matching, funnels, reading, records, forgetting, closing, random, zoned,
	} {
		for _, p := range group {
			t.Run(p.name, func(t *testing.T) {
				t.Parallel()
				p.check(newFixture(t, open))
			})
		}
	}
}

// RunIdempotencyWindow tests that a store remembers keys for the configured time. open
// returns a new, empty store.
func RunIdempotencyWindow(t *testing.T, open func(t *testing.T, now func() time.Time, window time.Duration) store.Store) {
	for _, window := range []time.Duration{store.MinDuplicateFor, store.DuplicateFor, 72 * time.Hour, store.MaxDuplicateFor} {
		t.Run(window.String(), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, func(t *testing.T, now func() time.Time) store.Store { return open(t, now, window) })
			f.add(keyed("s", "k"))
			for range 10 { // the store cleans its keys meanwhile
				f.clock.add(window/10 - time.Second)
				f.add(keyed("s", "k"))
			}
			require.EqualValues(f, 1, f.totals(days(0, 1)).Events)
			f.clock.add(10 * time.Second)
			f.add(keyed("s", "k"), keyed("s", "k"))
			require.EqualValues(f, 2, f.totals(days(0, 1)).Events)
		})
	}
}

// promise is a sentence of the contract, and a check of it.
type promise struct {
	name  string
	check func(*fixture)
}

// fixture is a new store and its clock.
type fixture struct {
	*testing.T
	store.Store
	clock *clock
}

func newFixture(t *testing.T, open func(*testing.T, func() time.Time) store.Store) *fixture {
	c := &clock{}
	c.set(at(40, 12))
	f := &fixture{T: t, Store: open(t, c.now), clock: c}
	t.Cleanup(func() { _ = f.Close() }) // some checks have closed it already
	return f
}

// clock is a time that changes only when it is set.
type clock struct{ nanos atomic.Int64 }

func (c *clock) set(to time.Time)    { c.nanos.Store(to.UnixNano()) }
func (c *clock) now() time.Time      { return time.Unix(0, c.nanos.Load()) }
func (c *clock) add(d time.Duration) { c.nanos.Add(int64(d)) }

// begin is the first day of the suite. The clock starts 40 days later.
var begin = time.Date(2026, 2, 20, 0, 0, 0, 0, time.UTC)

// at returns the time this many days and hours after begin.
func at(days, hours int) time.Time {
	return begin.AddDate(0, 0, days).Add(time.Duration(hours) * time.Hour)
}

// days returns a query of the site "s", from one day to the start of another.
func days(from, to int) store.Query {
	return store.Query{Site: "s", From: at(from, 0), To: at(to, 0)}
}

// pageview returns a pageview of the site "s".
func pageview(when time.Time, visitor uint64, path string) store.Event {
	return store.Event{Site: "s", At: when, URL: "https://s.example" + path, Path: path, Visitor: visitor}
}

// event returns an event of the site "s" with string props, by key and value.
func event(when time.Time, visitor uint64, name string, props ...string) store.Event {
	e := pageview(when, visitor, "/")
	e.Name = name
	for i := 0; i < len(props); i += 2 {
		e.Props = append(e.Props, store.Prop{Key: props[i], Value: props[i+1]})
	}
	return e
}

func (f *fixture) add(events ...store.Event) {
	f.Helper()
	Add(f, f.Store, events...)
}

// Add adds events. Some may be duplicates.
func Add(t testing.TB, s store.Store, events ...store.Event) {
	t.Helper()
	for _, e := range events {
		_, err := s.Add(t.Context(), e)
		assert.NoError(t, err) // not require: callers may be other goroutines
	}
}

// answer asks one question.
func (f *fixture) answer(q store.Query, question store.Question) store.Answer {
	f.Helper()
	answers, err := f.Ask(f.Context(), q, question)
	require.NoError(f, err)
	require.Len(f, answers, 1)
	return answers[0]
}

func (f *fixture) totals(q store.Query) store.Totals {
	f.Helper()
	return f.answer(q, store.Question{}).Totals
}

func (f *fixture) series(q store.Query, step store.Step) []store.Point {
	f.Helper()
	return f.answer(q, store.Question{Step: step}).Points
}

func (f *fixture) top(q store.Query, by store.Dimension, limit int) []store.Row {
	f.Helper()
	return f.answer(q, store.Question{Counts: by.Counts, By: by.Field, Limit: limit}).Rows
}

func (f *fixture) props(q store.Query, event string, limit int) []store.PropRow {
	f.Helper()
	return f.answer(Named(q, event), store.Question{By: store.Props, Limit: limit}).Props
}

func (f *fixture) numbers(q store.Query, event string, limit int) []store.Number {
	f.Helper()
	return f.answer(Named(q, event), store.Question{By: store.Props, Limit: limit}).Numbers
}

func (f *fixture) pagesOf(q store.Query, event string, limit int) []store.Row {
	f.Helper()
	return f.top(Named(q, event), store.EventPages, limit)
}

func (f *fixture) count(q store.Query, m store.Match) store.Row {
	f.Helper()
	rows := f.answer(q, store.Question{Goals: []store.Match{m}}).Rows
	require.Len(f, rows, 1)
	return rows[0]
}

func (f *fixture) funnel(q store.Query, steps ...store.Match) store.Funnel {
	f.Helper()
	funnel, err := f.Funnel(f.Context(), q, steps)
	require.NoError(f, err)
	return funnel
}

func (f *fixture) recent(q store.Query, limit int) []store.Event {
	f.Helper()
	events, err := f.Recent(f.Context(), q, limit)
	require.NoError(f, err)
	return events
}

func (f *fixture) export(q store.Query) []store.Event {
	f.Helper()
	var events []store.Event
	require.NoError(f, f.Export(f.Context(), q, func(e store.Event) error {
		events = append(events, e)
		return nil
	}))
	return events
}
