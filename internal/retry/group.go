package retry

import "time"

// groups are the events of open breakers.
type groups[T any] struct {
	of       map[Group]*group[T]
	waiting  map[Kind]int // how many events
	accepted time.Time    // when the API last accepted an event while a breaker was open
}

func newGroups[T any]() groups[T] {
	return groups[T]{of: make(map[Group]*group[T]), waiting: make(map[Kind]int)}
}

// clear removes all groups.
func (gs *groups[T]) clear() {
	clear(gs.of)
	clear(gs.waiting)
}

// count counts e if its place is in g, which may be nil.
func (gs *groups[T]) count(e *heldEvent[T], g *group[T]) {
	if e.counts = g != nil && (e.in == &g.fresh || e.in == &g.again); e.counts {
		gs.waiting[e.Kind]++
	}
}

// uncount stops counting e.
func (gs *groups[T]) uncount(e *heldEvent[T]) {
	if !e.counts {
		return
	}
	if gs.waiting[e.Kind]--; gs.waiting[e.Kind] == 0 {
		delete(gs.waiting, e.Kind)
	}
}

// group holds the events of an open breaker.
type group[T any] struct {
	due   Due
	fresh list[T]
	again eventHeap[T] // by time
	turn  uint
}

// candidate returns the next event to probe with, if it may be sent: an event that was never sent
// and one that has failed in turns, and of the former the newest and the oldest in turns.
func (g *group[T]) candidate(p Pick, now time.Time) *heldEvent[T] {
	if g.at().After(now) {
		return nil
	}
	g.turn++
	again := g.again.due(now)
	if g.due.Next.After(now) || p == Early {
		again = nil
	}
	switch {
	case again != nil && (g.turn%2 == 0 || len(g.fresh.events) == 0):
		return again
	case g.due.Early.After(now):
		return g.fresh.newest()
	}
	return g.fresh.either()
}

// at returns when the next event of the group may be sent.
func (g *group[T]) at() time.Time {
	if n := len(g.fresh.events); n > 0 {
		at := earlier(g.due.Early, g.due.Next)
		if !g.fresh.events[n-1].failed.Before(g.due.Since) {
			at = earlier(at, g.due.New)
		}
		return at
	}
	if e := g.again.first(); e != nil {
		return later(e.due, g.due.Next)
	}
	return never
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
