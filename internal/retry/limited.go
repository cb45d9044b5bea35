package retry

import "time"

// A kind is limited if the API bounds the rate of its events. It is paced while it shows that.

// isLimited reports whether the API bounds the rate of a kind, as far as is known: an event was accepted
// after an answer that shows the bound. Other events would wait in vain for a Retry-After to end.
func (b *breaker) isLimited(site *breaker, now time.Time) bool {
	if site.pace.isOff(now) {
		return false
	}
	return b.paced || now.Sub(b.limited) <= lately
}

// isPaced reports whether a kind should be paced after an answer. limited says that the answer shows the bound. If
// another kind of the site is paced, answers to two events suffice, because it may be the same bound. A kind that has accepted
// nothing for longAgo is paced no more: the API may be away for it.
func (b *breaker) isPaced(site *breaker, limited bool, now time.Time) bool {
	switch {
	case !limited:
		return false
	case b.paced:
		return now.Sub(b.accepted) <= longAgo
	case b.over > mostCounted && b.events > 0:
		return true
	}
	return b.events > 1 && site.pace.isKnown(now) && now.Sub(b.refused) <= joinsAfter
}

// counts counts an answer that shows the bound.
func (b breaker) counts(f *Failure) breaker {
	if f.Counted == 0 {
		b.events = min(b.events, mostCounted) + 1
	}
	if f.Counted < mostCounted {
		b.over = min(b.over, mostCounted) + 1
	}
	return b
}

// mostCounted is how many answers to one event are counted. A kind is not paced for so few, so there are others.
const mostCounted = 3

// joinsAfter is how long the first attempt of an event shows the bound of another kind. Further attempts of
// events with Retry-After come later.
const joinsAfter = 500 * time.Millisecond

// limits returns b paced.
func (b breaker) limits(now time.Time) breaker {
	if !b.isOpen() {
		b.since, b.probes = now, probes{}
	}
	b.paced = true
	return b
}

// limits notes an answer that shows that the API bounds the rate of a kind.
func (s *Scopes) limits(kind, site *breaker, p Admission, now time.Time) {
	if !kind.isOpen() {
		s.opened++
	}
	*kind = kind.limits(now)
	switch known := site.pace.isKnown(now); {
	case known && site.pace.isOver(now):
		site.pace = site.pace.resumes(now)
	case p.paced || !known: // otherwise it tells nothing about the pace
		site.pace = site.pace.limited(p.Began, now, p.calm)
		if p.calm {
			s.slot = now
		}
	}
}

// Recovered notes that an event of k is accepted whose last answer had a Retry-After.
func (s *Scopes) Recovered(k Kind, now time.Time) {
	if b := s.kinds[s.kindOf(k)]; b != nil {
		b.limited = now
	}
}

// sends notes that an event of k is sent, and reports whether none of a kind whose rate the API may bound was
// sent for paceCalm.
func (s *Scopes) sends(k Kind, now time.Time) (calm bool) {
	b := s.kinds[s.kindOf(k)]
	if b == nil || !b.fails() && b.over == 0 && now.Sub(b.limited) > lately {
		return false
	}
	calm = now.Sub(s.sent) >= paceCalm
	s.sent = now
	return calm
}

// everyPaced returns the time between two events of paced kinds of all sites that have such events. If the API
// bounds the rate of all of them together, events at the same time would get in each other's way.
func (s *Scopes) everyPaced(now time.Time) time.Duration {
	rate := 0.0
	for _, b := range s.sites {
		if p := b.pace; p.isKnown(now) && !p.isOver(now) && now.Sub(p.next) <= paceIdle {
			rate += p.rate(now)
		}
	}
	if rate == 0 {
		return 0
	}
	return time.Duration(float64(time.Second) / rate)
}
