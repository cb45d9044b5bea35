package retry

import "time"

// groups are the events of open breakers.
type groups[T any] struct {
	of       map[scope]*group[T]
	waiting  map[Kind]int // how many events
	accepted time.Time    // when the API last accepted an event while a breaker was open
}

// scope identifies an open breaker.
type scope struct {
	at   level
	site uint64
	kind Kind
}

// scope returns the breaker of b.
func (b Block) scope() scope {
	in := scope{at: b.at, site: b.site}
	if b.at == kindLevel {
		in.kind = b.kind
	}
	return in
}

func newGroups[T any]() groups[T] {
	return groups[T]{of: make(map[scope]*group[T]), waiting: make(map[Kind]int)}
}

// clear removes all groups.
func (gs *groups[T]) clear() {
	clear(gs.of)
	clear(gs.waiting)
}

// pile returns the pile for events that wait for b.
func (gs *groups[T]) pile(b Block) *pile[T] {
	g := gs.of[b.scope()]
	if g == nil {
		g = &group[T]{due: b.due, piles: make(map[Kind]*pile[T])}
		gs.of[b.scope()] = g
	}
	p := g.piles[b.kind]
	if p == nil {
		p = &pile[T]{again: byTime[T]()}
		g.piles[b.kind] = p
	}
	g.paced, p.asked, p.accepted = b.paced, b.asked, b.accepted
	return p
}

// count counts e, which waits in a group.
func (gs *groups[T]) count(e *heldEvent[T]) {
	e.counts = true
	gs.waiting[e.Kind]++
}

// uncount stops counting e.
func (gs *groups[T]) uncount(e *heldEvent[T]) {
	if !e.counts {
		return
	}
	e.counts = false
	if gs.waiting[e.Kind]--; gs.waiting[e.Kind] == 0 {
		delete(gs.waiting, e.Kind)
	}
}

// group holds the events of an open breaker, a pile for each kind.
type group[T any] struct {
	due        Due
	piles      map[Kind]*pile[T]
	candidates uint // counts candidates
	preferred  bool // the last choice between two kinds was the one that accepted an event last
	paced      bool // see Block; the group of one kind
}

// pile holds the events of a kind.
type pile[T any] struct {
	fresh      list[T]
	again      eventHeap[T] // by time
	candidates uint         // counts candidates
	tried      uint         // candidates of the group at its last turn
	asked      time.Time    // see Block
	accepted   time.Time    // when the kind last accepted an event
}

// has reports whether an event of the group may be sent.
func (g *group[T]) has(p Pick, now time.Time) bool {
	if g.paced != (p == Turn) {
		return false
	}
	for _, o := range g.piles {
		if o.has(p, g.due, now) {
			return true
		}
	}
	return false
}

// candidate returns the next event to probe with, if one may be sent. The kinds take turns, because one
// may be accepted although all others fail. Every second time it is the kind that accepted an event last: it
// probably accepts one again when an outage is over, unless its event has failed often. While probes are frequent, an
// event that has arrived since the last one comes first.
func (g *group[T]) candidate(p Pick, now time.Time) *heldEvent[T] {
	var next, last *pile[T]
	for _, o := range g.piles {
		if !o.has(p, g.due, now) {
			continue
		}
		if !g.due.Last.IsZero() && o.hasArrived(g.due.Last) {
			g.candidates++
			o.tried = g.candidates
			return o.fresh.newest()
		}
		if next == nil || o.tried < next.tried {
			next = o
		}
		if o.mayPass() && (last == nil || o.accepted.After(last.accepted)) {
			last = o
		}
	}
	if next == nil {
		return nil
	}
	if last != nil && last != next && !last.accepted.IsZero() {
		if g.preferred = !g.preferred; g.preferred {
			next = last
		}
	}
	g.candidates++
	next.tried = g.candidates
	return next.candidate(p, g, now)
}

// at returns when the next event of the group may be sent.
func (g *group[T]) at() time.Time {
	at := never
	for _, p := range g.piles {
		at = earlier(at, p.at(g.due))
	}
	return at
}

// has reports whether an event of the pile may be sent.
func (p *pile[T]) has(pick Pick, group Due, now time.Time) bool {
	return !p.at(group).After(now) && (pick != Early || len(p.fresh.events) > 0)
}

// hasArrived reports whether an event has arrived after a time.
func (p *pile[T]) hasArrived(since time.Time) bool {
	e := p.fresh.newest()
	return e != nil && e.failed.After(since)
}

// mayPass reports whether the next event of the pile has not failed often. Attempts that take long count more.
func (p *pile[T]) mayPass() bool {
	if len(p.fresh.events) > 0 {
		return true
	}
	e := p.again.first()
	return e.Failed*(1+int(e.Took/time.Second)) <= oftenFailed
}

// oftenFailed is how many failed attempts an event has in an outage of two minutes, if its kind is preferred.
const oftenFailed = 10

// place returns where an event of the pile is.
func (p *pile[T]) place(e *heldEvent[T]) place[T] {
	if e.Fresh {
		return &p.fresh
	}
	return &p.again
}

// candidate returns two events that were never sent, which may differ from those that have failed, and then one that has
// failed. The former are the newest, a random and the oldest in turns.
func (p *pile[T]) candidate(pick Pick, g *group[T], now time.Time) *heldEvent[T] {
	due := g.due.of(p.asked)
	p.candidates++
	again := p.again.due(now)
	if due.Next.After(now) || pick == Early {
		again = nil
	}
	switch {
	case again != nil && (p.candidates%3 == 0 || len(p.fresh.events) == 0):
		return again
	case due.Early.After(now):
		return p.fresh.newest()
	case g.paced:
		return p.fresh.oldest()
	}
	return p.fresh.some()
}

// at returns when the next event of the pile may be sent.
func (p *pile[T]) at(group Due) time.Time {
	due := group.of(p.asked)
	if n := len(p.fresh.events); n > 0 {
		at := earlier(due.Early, due.Next)
		if !p.fresh.events[n-1].failed.Before(due.Since) {
			at = earlier(at, due.New)
		}
		return at
	}
	if e := p.again.first(); e != nil {
		return later(e.due, due.Next)
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
