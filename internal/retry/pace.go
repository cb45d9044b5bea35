package retry

import (
	"math"
	"time"
)

// pace is how fast events of a site are sent whose rate the API bounds. It is a value; its methods return the
// next one. After the first answer that shows the bound, the rate doubles twice a second until the next one,
// which other events may have caused, and then once a second. After a third one it falls to four fifths, and
// rises again to what it was, slowly while it is near, and then faster, as the window of TCP's CUBIC does (RFC
// 9438, Section 4.2). If it reaches about the same rate again, it rises more slowly the next time. It does not
// rise while no event waits for it.
//
// A single answer that shows the bound does not make it fall, because an API may answer so at random. If an event got
// one although no other was sent for paceCalm, the next one is sent at once. If the API accepts that, twice in a
// row, its answers are about events, and there is no bound.
type pace struct {
	top      float64       // events a second that the API took before the last such answer; 0 if there was none
	cut      time.Time     // when the attempt ended that got it
	from     time.Time     // the same, later by the time in which no event waited for it
	rise     time.Duration // after which the rate is top again
	seek     int           // 2 after the first one, 1 after the second one: the rate that the API accepts is not known
	vain     int           // such answers since an event was accepted, without the first one
	level    float64       // such answers since the rate fell, less what was accepted meanwhile, times paceLeak
	calm     time.Time     // when such an answer came although no other event had been sent for paceCalm
	doubts   int           // events that were accepted right after that, in a row
	off      time.Time     // until when the answers are taken to be about their events
	next     time.Time     // when the next event may be sent
	accepted time.Time     // when an event was accepted last
}

const (
	paceFall   = 0.2             // of the rate
	paceRise   = 5 * time.Second // rise, at first
	longRise   = 4 * paceRise    // rise, if the rate stays the same
	paceLess   = 0.97            // of a rate is less than about the same
	paceMore   = 1.25            // more
	paceLeast  = 2               // events a second
	paceFirst  = 5               // events a second
	paceVain   = 5               // answers without an accepted event, after which the rate halves
	paceLevel  = 2               // level above which the rate falls
	paceFew    = 5               // events a second for each answer in level, if there are few
	paceLeak   = 1. / 10         // of level for each event that was accepted
	paceDoubts = 2               // doubts that show that such answers are not about the rate

	// paceBurst is the time for which events that were not sent may be sent later at once, because senders start
	// a bit late, if the time between two events is less.
	paceBurst = 10 * time.Millisecond

	// paceCalm is how long no event was sent before one that an API which bounds the rate accepts.
	paceCalm = 600 * time.Millisecond

	// paceIdle is how long the next event may be sent already when none is taken to wait for that.
	paceIdle = time.Second

	// paceRight is how long after an answer an event is sent right after it.
	paceRight = 100 * time.Millisecond

	// paceLasts is how long after the last answer that shows the bound the rate is remembered.
	paceLasts = time.Minute

	// paceOver is how long after rise events are sent without a bound.
	paceOver = 5 * time.Second
)

// rate returns how many events a second may be sent.
func (p pace) rate(now time.Time) float64 {
	since := max(0, now.Sub(p.from)).Seconds()
	if p.seek > 0 {
		return p.top * math.Exp2(float64(p.seek)*since)
	}
	t := since/p.rise.Seconds() - 1
	if t > 0 {
		return p.top * math.Exp2(since-p.rise.Seconds())
	}
	return max(paceLeast, p.top*(1+paceFall*t*t*t))
}

// accepts notes that an event was accepted, whose attempt began at a time.
func (p pace) accepts(began, now time.Time) pace {
	p.accepted, p.vain, p.level = now, 0, max(0, p.level-paceLeak)
	if p.calm.IsZero() || began.Before(p.calm) {
		return p
	}
	if began.Sub(p.calm) <= paceRight {
		p.doubts++
	}
	p.calm = time.Time{}
	if p.doubts >= paceDoubts {
		return pace{top: p.top, cut: now, rise: paceRise, off: now.Add(paceLasts), next: now}
	}
	return p
}

// limited notes an answer that shows the bound, to an attempt that began at a time. Attempts that began before the
// rate fell tell nothing new. calm says that no other event had been sent for paceCalm: then the answer may be
// about its event.
func (p pace) limited(began, now time.Time, calm bool) pace {
	if began.Before(p.cut) {
		return p
	}
	if !p.calm.IsZero() && !began.Before(p.calm) {
		p.calm, p.doubts = time.Time{}, 0
	}
	was := p.rate(now)
	switch {
	case !p.isKnown(now):
		p = pace{top: paceFirst, seek: 2, rise: paceRise}
	case p.accepted.Before(p.cut): // the API may accept nothing until its next second
		if p.vain++; p.vain%paceVain == 0 {
			p.top /= 2
		}
	case p.seek > 0:
		p.top, p.seek = was, p.seek-1
	case p.level+1 <= min(paceLevel, p.top/paceFew):
		p.level++
		return p.tries(calm, now)
	default:
		p.rise = p.nextRise(was)
		p.top = was
	}
	p.top, p.cut, p.from, p.level = max(p.top, paceLeast), now, now, 0
	p.next = now.Add(min(p.every(now)<<(p.vain%paceVain), time.Second))
	p.from = p.next
	return p.tries(calm, now)
}

// resumes returns the pace from the last rate on, because the API shows the bound again after events were sent
// without one.
func (p pace) resumes(now time.Time) pace {
	p = pace{top: p.rate(p.over()), cut: now, from: now, rise: paceRise, accepted: p.accepted}
	p.next = now.Add(p.every(now))
	return p
}

// tries returns a pace that sends the next event at once if calm is true.
func (p pace) tries(calm bool, now time.Time) pace {
	if calm {
		p.calm, p.next = now, now
	}
	return p
}

// nextRise returns rise after the API has taken a rate. It is longer if that is about the same as before, but not if
// a slow rise would be of few events.
func (p pace) nextRise(rate float64) time.Duration {
	if rate < paceLess*p.top || rate > paceMore*p.top {
		return paceRise
	}
	return max(paceRise, min(2*p.rise, longRise, time.Duration(p.top)*time.Second))
}

// every returns the time between two events.
func (p pace) every(now time.Time) time.Duration {
	return time.Duration(float64(time.Second) / p.rate(now))
}

// begins notes that an event is sent, which the spread of sites allowed from slot on.
func (p pace) begins(slot, now time.Time) pace {
	if p.isOff(now) {
		return p
	}
	if idle := now.Sub(later(p.next, slot)); idle > paceBurst {
		p.from = p.from.Add(idle)
	}
	p.next = next(p.next, now, p.every(now))
	return p
}

// next returns when an event may be sent after one that was due at a time and is sent now. After a late one it is
// not sent earlier, because an API that bounds the rate evenly would refuse it, unless there are very many.
func next(due, now time.Time, every time.Duration) time.Time {
	if every < paceBurst {
		now = later(due, now.Add(-paceBurst))
	}
	return now.Add(every)
}

// over returns after which time events are sent without a bound.
func (p pace) over() time.Time { return p.cut.Add(p.rise + paceOver) }

// isOver reports whether events may be sent without a bound.
func (p pace) isOver(now time.Time) bool { return now.After(p.over()) || p.isOff(now) }

// isOff reports whether a lower rate would be in vain: the API has refused events however long none was sent.
func (p pace) isOff(now time.Time) bool { return now.Before(p.off) }

// isKnown reports whether the rate is remembered.
func (p pace) isKnown(now time.Time) bool { return p.top > 0 && now.Sub(p.cut) <= paceLasts }
