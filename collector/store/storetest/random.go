package storetest

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/store"
)

var random = []promise{
	{"figures of random events are those of the reference, seed 1", func(f *fixture) { f.compareRandom(1) }},
	{"figures of random events are those of the reference, seed 2", func(f *fixture) { f.compareRandom(2) }},
	{"figures of random events are those of the reference, seed 3", func(f *fixture) { f.compareRandom(3) }},
}

// compareRandom adds events in three portions and compares all reports after each, to find
// stale caches.
func (f *fixture) compareRandom(seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 0))
	ref := NewReference()
	ref.Now = f.clock.now
	for range 3 {
		for _, e := range RandomEvents(rng, 300, at(0, 0), at(7, 0)) {
			f.add(e)
			Add(f, ref, e)
		}
		for range 6 {
			Compare(f.T, ref, f.Store, RandomQuery(rng, at(0, 0), at(7, 0)))
		}
		Compare(f.T, ref, f.Store, days(-1, 9))
		before := at(0, rng.IntN(48))
		require.NoError(f, ref.Forget(f.Context(), "s", before))
		require.NoError(f, f.Forget(f.Context(), "s", before))
		Compare(f.T, ref, f.Store, days(0, 7))
	}
}

// RandomEvents returns n events of the sites "s" and "t", in random order, with
// from <= At < to. It uses few visitors, pages and times, so that many coincide.
func RandomEvents(rng *rand.Rand, n int, from, to time.Time) []store.Event {
	events := make([]store.Event, n)
	for i := range events {
		events[i] = randomEvent(rng, from, to)
	}
	return events
}

func randomEvent(rng *rand.Rand, from, to time.Time) store.Event {
	e := store.Event{
		Site:    cmp.Or(pick(rng, "s", "s", "s", ""), "t"),
		At:      between(rng, from, to),
		Path:    pick(rng, "/", "/shop", "/shop/a", "/shop/b%", "/cart", "/Cart", "/ü_", "/blog/2026"),
		Visitor: rng.Uint64N(30),
	}
	if rng.IntN(4) == 0 { // on the hour, or the day
		e.At = e.At.Truncate(pick(rng, time.Hour, 24*time.Hour))
		if e.At.Before(from) {
			e.At = from
		}
	}
	e.URL = pick(rng, "https://s.example", "http://S:80") + e.Path + pick(rng, "", "?utm_source=news", "#top")
	e.Referrer = pick(rng, "", "", "r.example", "q.example")
	e.Source, e.Medium, e.Campaign = pick(rng, "", "news", "ads"), pick(rng, "", "mail"), pick(rng, "", "spring", "fall")
	e.Browser, e.Device = pick(rng, "", "Firefox", "Safari"), pick(rng, "", "Mobile", "Desktop")
	if rng.IntN(2) == 0 {
		e.Name = pick(rng, "paid", "signup", "Signup", "'")
		if rng.IntN(2) == 0 {
			e.Visitor = 0
		}
	}
	for _, key := range []string{"plan", "n", "\x00"} {
		if rng.IntN(3) == 0 {
			e.Props = append(e.Props, store.Prop{Key: key, Value: pick(rng, "pro", "1", "", "1.0"), Numeric: rng.IntN(2) == 0})
		}
	}
	if rng.IntN(5) == 0 {
		e.Key = fmt.Sprint(rng.IntN(200))
	}
	return e
}

func pick[T any](rng *rand.Rand, from ...T) T { return from[rng.IntN(len(from))] }

// RandomQuery returns a query of "s" between from and to, by days, hours or nanoseconds, in any zone.
func RandomQuery(rng *rand.Rand, from, to time.Time) store.Query {
	a, b := between(rng, from, to), between(rng, from, to)
	unit := pick(rng, time.Nanosecond, time.Hour, 24*time.Hour, 24*time.Hour)
	a, b = a.Truncate(unit), b.Truncate(unit)
	if b.Before(a) {
		a, b = b, a
	}
	return store.Query{Site: "s", From: a, To: b, Zone: RandomZone(rng, from, to), Filter: randomFilter(rng)}
}

// randomFilter returns a filter of none to three conditions on the values that RandomEvents generates.
func randomFilter(rng *rand.Rand) (f store.Filter) {
	for range pick(rng, 0, 0, 1, 1, 1, 2, 3) {
		f = append(f, randomCondition(rng))
	}
	return f
}

func randomCondition(rng *rand.Rand) store.Condition {
	c := store.Condition{Op: pick(rng, store.Is, store.Is, store.IsNot, store.Contains, store.ContainsNot)}
	switch rng.IntN(4) {
	case 0:
		c.Field, c.Key = store.PropOf, pick(rng, "plan", "n", "none")
	case 1:
		c.Field, c.Op = store.Goal, pick(rng, store.Is, store.IsNot)
		for range 1 + rng.IntN(2) {
			c.Goals = append(c.Goals, pick(rng, randomMatches...))
		}
		return c
	default:
		c.Field = pick(rng, store.TextFields()...)
	}
	for range 1 + rng.IntN(2) {
		value := pick(rng, "/", "/shop", "/Cart", "r.example", "news", "mail", "spring", "FIREFOX", "Firefox", "paid", "o", "p", "1", "pro", "", "none")
		if value == "" && c.Op.Partial() {
			value = "/Ü"
		}
		c.Values = append(c.Values, value)
	}
	return c
}

func between(rng *rand.Rand, from, to time.Time) time.Time {
	return from.Add(time.Duration(rng.Int64N(int64(to.Sub(from)))))
}
