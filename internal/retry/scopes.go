package retry

import (
	"cmp"
	"math"
	"time"
)

// Scopes are the circuit breakers of the API, its sites and the kinds of events. A failure counts
// in all three that contain the event, and opens the widest one that it is seen to concern: the
// API if events of several sites fail, or if the failure is not about an event; the site if events
// of several kinds fail; else the kind. An accepted event closes those that contain it.
//
// Scopes are not safe for concurrent use. They are a function of the attempts and times that they
// are told, except for the jitter of waits.
type Scopes struct {
	waits   Waits
	api     breaker
	sites   map[uint64]*breaker // in which events have failed
	kinds   map[Kind]*breaker   // the same
	opened  int                 // breakers that are open
	closing bool                // the tracker closes

	accepted time.Time // when the API last settled an event
	sent     time.Time // when the last event of a kind was sent whose rate the API may bound
	slot     time.Time // when the next event of a paced kind may be sent, of any site
	retried  float64   // share of repeated attempts that have succeeded lately
}

// NewScopes returns Scopes that are closed.
func NewScopes(w Waits) *Scopes {
	return &Scopes{waits: w, sites: make(map[uint64]*breaker), kinds: make(map[Kind]*breaker)}
}

// Admission is the permission to send one event. The result of the attempt is reported with it.
type Admission struct {
	Began time.Time
	probe level     // of the breaker that the event is a probe of
	since time.Time // when that opened
	early bool      // the probe is not the one that was due
	paced bool      // it is sent at the pace of the site
	calm  bool      // no other event was sent for paceCalm, of the kinds whose rate the API may bound
}

// IsProbe reports whether the event is sent as a probe.
func (p *Admission) IsProbe() bool { return p.probe != noLevel }

// IsWide reports whether the event is a probe of its site or of the API.
func (p *Admission) IsWide() bool { return p.probe > kindLevel }

type level uint8

const (
	noLevel level = iota
	kindLevel
	siteLevel
	apiLevel
)

// open returns the widest open breaker that holds events of k, or nil. A kind that has not failed since
// the wider scopes accepted an event is not held.
func (s *Scopes) open(k Kind) (*breaker, level) {
	kind := s.kinds[s.kindOf(k)]
	if kind == nil || !kind.fails() {
		return nil, noLevel
	}
	if b, at := s.wide(k); b != nil {
		return b, at
	}
	if kind.isOpen() {
		return kind, kindLevel
	}
	return nil, noLevel
}

// wide returns the breaker of the API, or else of the site of k, if that is open, or nil.
func (s *Scopes) wide(k Kind) (*breaker, level) {
	if s.api.isOpen() {
		return &s.api, apiLevel
	}
	if b := s.sites[s.siteOf(k)]; b != nil && b.isOpen() {
		return b, siteLevel
	}
	return nil, noLevel
}

// NothingFailed reports whether nothing has failed for a while.
func (s *Scopes) NothingFailed() bool { return len(s.kinds) == 0 && s.api.isIdle() && !s.api.reopens }

// AnyOpen reports whether any breaker is open.
func (s *Scopes) AnyOpen() bool { return s.opened > 0 }

// AcceptedSince reports whether an event of k was accepted after a time, as far as is known.
func (s *Scopes) AcceptedSince(k Kind, t time.Time) bool {
	b := s.kinds[s.kindOf(k)]
	return b != nil && b.accepted.After(t)
}

// Doubts reports whether so many events of k have failed since one was accepted that another
// attempt of any of them should wait, until an event is accepted or the breaker opens.
func (s *Scopes) Doubts(k Kind) (wait time.Duration, doubts bool) {
	if b, _ := s.open(k); b != nil {
		return 0, false
	}
	b := s.kinds[s.kindOf(k)]
	return recently, b != nil && b.fresh+b.again > fewFailures
}

// APIOpen reports whether the breaker of the API is open.
func (s *Scopes) APIOpen() bool { return s.api.isOpen() }

// AcceptsEvents reports whether the API has lately accepted an event.
func (s *Scopes) AcceptsEvents(now time.Time) bool { return now.Sub(s.accepted) <= recently }

// Accepted returns when the API last settled an event, or zero.
func (s *Scopes) Accepted() time.Time { return s.accepted }

// Block says what events of a kind wait for: an open breaker. The zero Block stands for none.
type Block struct {
	at   level
	site uint64 // of the breaker of a site or kind
	kind Kind   // that has a breaker
	due  Due

	paced    bool      // the API bounds the rate
	asked    time.Time // until when the API has asked to wait, of the kind
	accepted time.Time // when the kind last accepted an event, as far as is known
}

// IsSet reports whether events wait.
func (b Block) IsSet() bool { return b.at != noLevel }

// IsPaced reports whether they wait because the API bounds the rate.
func (b Block) IsPaced() bool { return b.paced }

// BlockOf returns what events of k wait for.
func (s *Scopes) BlockOf(k Kind) Block {
	b, at := s.open(k)
	if b == nil {
		return Block{}
	}
	kind := s.kindOf(k)
	block := Block{at: at, kind: kind, due: s.due(b, k), paced: b.paced, asked: s.kinds[kind].asked, accepted: s.kinds[kind].accepted}
	if at == siteLevel {
		block.site = s.siteOf(k)
	}
	return block
}

func (s *Scopes) due(b *breaker, k Kind) Due {
	if b.paced {
		var next time.Time
		if site := s.sites[s.siteOf(k)]; site != nil { // otherwise nothing was sent for long
			next = later(site.pace.next, s.slot)
		}
		return Due{Next: next, Early: next, New: next, began: b.last}
	}
	due := b.due(b.fresh <= fewFailures, s.waits.Retry.Base)
	due.one = b.fresh <= 1
	return due
}

// Age is how much is known about how new an event is.
type Age uint8

const (
	Sent   Age = iota // it was sent before
	Unsent            // it was never sent
	New               // the same, and it has just arrived
)

// Admit reports whether an event of k may be sent now. The caller must report the result of the
// attempt with the Admission.
func (s *Scopes) Admit(k Kind, age Age, now time.Time) (a Admission, ok bool) {
	b, at := s.open(k)
	if b == nil {
		if wide, _ := s.wide(k); wide != nil {
			kind, _ := s.ensure(k, now)
			kind.trial = true
		}
		return Admission{Began: now, calm: s.sends(k, now)}, true
	}
	due := s.due(b, k).of(s.kinds[s.kindOf(k)].asked)
	if at := [...]time.Time{due.Next, due.Early, due.New}[age]; at.After(now) {
		return Admission{}, false
	}
	a = Admission{Began: now, paced: b.paced, calm: s.sends(k, now)}
	if b.paced {
		_, site := s.ensure(k, now)
		site.pace = site.pace.begins(s.slot, now)
		s.slot = next(s.slot, now, s.everyPaced(now)/4*3)
		b.last = now
		return a, true
	}
	a.probe, a.since = at, b.since
	b.probes, a.early = b.begins(age == New, now)
	return a, true
}

// probed returns the breaker that p is a probe of. It returns nil if p is no probe, or if the
// breaker has closed since.
func (s *Scopes) probed(k Kind, p Admission) *breaker {
	var b *breaker
	switch p.probe {
	case apiLevel:
		b = &s.api
	case siteLevel:
		b = s.sites[s.siteOf(k)]
	case kindLevel:
		b = s.kinds[s.kindOf(k)]
	}
	if b == nil || !b.since.Equal(p.since) {
		return nil
	}
	return b
}

// Cancel reports that an attempt was not made, or was ended by the caller.
func (s *Scopes) Cancel(k Kind, p Admission) {
	if kind := s.kinds[s.kindOf(k)]; kind != nil {
		kind.trial = false
	}
	if b := s.probed(k, p); b != nil {
		b.probes = b.canceled(p.early)
	}
}

// Change is what an attempt has changed.
type Change struct {
	Opened bool // a breaker has opened, or others are tried earlier
	Closed bool
	Logged bool // the log says that events were not accepted, and they are
	Limits bool // the answer shows that the API bounds the rate of the kind, as far as is known
}

// Accept reports that the API has settled an event of k.
func (s *Scopes) Accept(k Kind, a Admission, now time.Time) (c Change) {
	s.accepted = now
	if s.NothingFailed() {
		s.api.accepted = now
		return c
	}
	limit := s.learns(k, now)
	if s.opened > 0 && !s.api.isOpen() && now.Sub(s.api.accepted) > lately {
		s.relax(now)
		c.Opened = true
	}
	kind, site := s.kindOf(k), s.siteOf(k)
	if b := s.kinds[kind]; b != nil && b.paced {
		_, site := s.ensure(k, now)
		site.pace = site.pace.accepts(a.Began, now)
		b.paced = !site.pace.isOver(now)
	}
	s.accept(s.kinds[kind], a, limit, now, &c)
	asked, closed := time.Time{}, false
	for _, wide := range []*breaker{s.sites[site], &s.api} {
		if wide == nil {
			continue
		}
		notBefore := wide.notBefore
		if s.accept(wide, a, limit, now, &c) {
			asked, closed = later(asked, notBefore), true
		}
	}
	if closed {
		s.inherit(asked, now)
	}
	s.tidy(k, now)
	return c
}

// accept notes in b that an event was accepted, and reports whether b has closed.
func (s *Scopes) accept(b *breaker, a Admission, limit int, now time.Time, c *Change) (closed bool) {
	if b == nil {
		return false
	}
	was := *b
	if was.isOpen() {
		limit = min(limit, fewFailures)
	}
	*b = b.accepts(a.Began, now, limit)
	if b.isOpen() {
		return false
	}
	c.Logged = c.Logged || was.logged != 0
	if was.isOpen() {
		s.opened--
		c.Closed = true
	}
	return was.isOpen()
}

// learns returns the most failures in a row that the scopes of k learn from, now that an event of k
// is accepted. If a breaker was open, the row may come from an outage.
func (s *Scopes) learns(k Kind, now time.Time) (limit int) {
	switch b, _ := s.open(k); {
	case b == nil:
		return math.MaxInt
	case now.Sub(b.since) <= recently:
		return fewFailures
	}
	return 0
}

// inherit opens the breakers of kinds that have failed too often, because a wider breaker has
// closed: the API accepts events again, but not necessarily theirs. The wait that the API has asked for is
// theirs.
func (s *Scopes) inherit(notBefore, now time.Time) {
	for _, b := range s.kinds {
		if !b.isOpen() && b.exceeds(now, Later) {
			*b = b.inherits(notBefore, now)
			s.opened++
		}
	}
}

// relax shortens the waits of open kinds and sites, because the API has accepted an event: neither
// the key nor the address is wrong.
func (s *Scopes) relax(now time.Time) {
	limit := now.Add(s.waits.Retry.Delay(63))
	for _, b := range s.sites {
		b.hurry(limit)
	}
	for _, b := range s.kinds {
		b.hurry(limit)
	}
}

// Fail reports a failed attempt of an event of k.
func (s *Scopes) Fail(k Kind, p Admission, f *Failure, now time.Time) (c Change) {
	kind, site := s.ensure(k, now)
	if f.RetryAfter > 0 {
		kind.asked = later(kind.asked, now.Add(f.RetryAfter))
	} else {
		kind.asked = time.Time{}
	}
	limited := f.Limits && kind.isLimited(site, now)
	if f.Limits {
		s.sent = now
		if f.First {
			kind.refused = now
		}
	}
	if c.Limits = limited; limited {
		*kind = kind.counts(f)
	}
	count := func(b *breaker, child uint64) {
		if !p.Began.Before(b.accepted) { // otherwise it was sent before the scope accepted an event
			b.streak = b.add(f, child, now)
		}
	}
	count(&s.api, k.Site)
	count(site, k.Name)
	count(kind, 0)
	probed := s.probed(k, p)
	open, _ := s.open(k)
	if open == kind && kind.paced {
		open = nil // as if it were closed
	}
	b := cmp.Or(probed, open, s.concerned(kind, site, f, limited, now))
	if b == nil {
		return c
	}
	of := *f
	if b == kind && kind.isPaced(site, limited, now) {
		c.Opened = !kind.paced
		s.limits(kind, site, p, now)
		return c
	}
	if now.Sub(b.accepted) <= longAgo {
		of.RetryAfter = 0 // others are accepted, so it is about the event
	}
	if now.Sub(s.api.accepted) <= lately && probed != nil {
		of.Class = Later // neither the key nor the address is wrong
	}
	switch b {
	case probed:
		b.probes = b.fail(&of, p.early, now, &s.waits)
	case open:
		b.probes = b.retryAfter(&of, now)
	default:
		if !b.isOpen() { // otherwise it was paced
			s.opened++
		}
		*b = b.opens(&of, now, &s.waits)
		c.Opened = true
	}
	return c
}

// concerned returns the widest breaker that f is seen to concern, or nil.
func (s *Scopes) concerned(kind, site *breaker, f *Failure, limited bool, now time.Time) *breaker {
	noAPI := f.NoAPI && now.Sub(s.api.accepted) > recently
	switch {
	case s.closing:
	case (s.api.several || noAPI) && s.api.exceeds(now, f.Class):
		return &s.api
	case site.several && site.exceeds(now, f.Class):
		return site
	}
	if kind.exceeds(now, f.Class) || kind.isPaced(site, limited, now) {
		return kind
	}
	return nil
}

// Retried notes whether a repeated attempt has succeeded.
func (s *Scopes) Retried(ok bool) {
	got := 0.0
	if ok {
		got = 1
	}
	s.retried += (got - s.retried) / 64
}

// FailsAtRandom reports whether many repeated attempts succeed: an event that has failed several
// times is then no different from the others.
func (s *Scopes) FailsAtRandom() bool { return s.retried > 0.25 }

// ShouldLog reports whether the log should say that events of k are not accepted because of answers of a
// class. It should once for each class until events are accepted: after a probe has failed, or after
// two attempts if nothing was accepted lately. all says that nothing was accepted since, so that it
// concerns all events, as far as is known.
func (s *Scopes) ShouldLog(k Kind, c Class, now time.Time) (should, all bool) {
	b, _ := s.open(k)
	switch {
	case b != nil && b.step > 0:
		all = !s.api.accepted.After(b.since)
	case s.fails(now):
		b, all = &s.api, true
	default:
		return false, false
	}
	should = b.logged&(1<<c) == 0
	b.logged |= 1 << c
	return should, all
}

// fails reports whether attempts have failed and nothing was accepted lately.
func (s *Scopes) fails(now time.Time) bool {
	return s.api.fresh+s.api.again > 1 && now.Sub(s.api.accepted) > recently
}

// Outage reports whether no events are accepted, as far as is known: attempts have failed and nothing
// was accepted lately, or a breaker is open whose probe has failed, or that opened because many
// events failed, and nothing was accepted since. since is when an attempt first failed, and err is the
// error of the latest one.
func (s *Scopes) Outage(now time.Time) (since time.Time, err error, out bool) {
	return s.api.began, s.api.err, s.isOut(now)
}

func (s *Scopes) isOut(now time.Time) bool {
	b := &s.api
	return b.isOpen() && (b.step > 0 || b.fresh > fewFailures) && !b.accepted.After(b.since) || s.fails(now)
}

// Hurry makes waits at most limit, because the tracker closes, also those that the API has asked for. From
// now on only kinds have breakers: each is probed by itself, because there is no time for turns.
func (s *Scopes) Hurry(limit time.Duration, now time.Time) {
	s.closing = true
	s.waits.Retry.Max = min(s.waits.Retry.Max, limit)
	s.waits.Retry.Base = min(s.waits.Retry.Base, limit)
	s.waits.Retry.Low = 0.5 // short waits would only cost requests
	s.waits.Hold = s.waits.Retry
	hurry := func(b *breaker) {
		b.notBefore = earlier(b.notBefore, now.Add(limit))
		b.hurry(now.Add(limit))
	}
	s.shut(&s.api)
	for _, b := range s.sites {
		s.shut(b)
	}
	s.inherit(time.Time{}, now)
	for _, b := range s.kinds {
		hurry(b)
	}
}

// shut closes the breaker of a site or of the API.
func (s *Scopes) shut(b *breaker) {
	if b.isOpen() {
		b.since, b.probes = time.Time{}, probes{}
		s.opened--
	}
}
