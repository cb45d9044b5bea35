package retry

import (
	"math"
	"time"
)

// pace is how fast events of a kind are sent whose rate the API bounds. It is a value; its methods return
// the next one. After the first answer that shows the bound, the rate doubles twice a second until the next
// one, which other events may have caused, and then once a second. After a third one it falls to four fifths,
// and rises again to what it was, slowly while it is near, and then faster, as the window of TCP's CUBIC does
// (RFC 9438, Section 4.2).
type pace struct {
	top  float64   // events a second that the API took before the last such answer; 0 if there was none
	cut  time.Time // when the attempt ended that got it
	seek int       // 2 after the first one, 1 after the second one: the rate that the API accepts is not known
	vain int       // such answers since an event was accepted, without the first one
	next time.Time // when the next event may be sent
	gone float64   // events that were accepted lately
	at   time.Time // when gone was counted
}

const (
	paceFall  = 0.2             // of the rate
	paceRise  = 5 * time.Second // until the rate is the same again
	paceLeast = 2               // events a second
	paceFirst = 5               // events a second, if nothing was accepted
	paceVain  = 5               // answers without an accepted event, after which the rate halves
	meterTime = 2 * time.Second // that gone is a mean of

	// paceBurst is the time for which events that were not sent may be sent later at once, because
	// senders start a bit late.
	paceBurst = 10 * time.Millisecond

	// paceLasts is how long after the last answer that shows the bound the rate is remembered.
	paceLasts = time.Minute

	// paceOver is how long after it events are sent without a bound: the rate is 32 times as high then.
	paceOver = 2 * paceRise
)

// rate returns how many events a second may be sent.
func (p pace) rate(now time.Time) float64 {
	since := now.Sub(p.cut).Seconds()
	if p.seek > 0 {
		return p.top * math.Exp2(float64(p.seek)*since)
	}
	t := since/paceRise.Seconds() - 1
	if t > 0 {
		return p.top * math.Exp2(t*paceRise.Seconds())
	}
	return max(paceLeast, p.top*(1+paceFall*t*t*t))
}

// meter returns how many events a second were accepted lately.
func (p pace) meter(now time.Time) float64 {
	return p.gone * math.Exp(-now.Sub(p.at).Seconds()/meterTime.Seconds()) / meterTime.Seconds()
}

// accepted notes that an event was accepted.
func (p pace) accepted(now time.Time) pace {
	p.gone = p.meter(now)*meterTime.Seconds() + 1
	p.at, p.vain = now, 0
	return p
}

// limited notes an answer that shows the bound, to an attempt that began at a time. Those that began before
// the rate fell tell nothing new.
func (p pace) limited(began, now time.Time) pace {
	if began.Before(p.cut) {
		return p
	}
	got, was := p.meter(now), p.rate(now)
	switch {
	case !p.isKnown(now):
		p.top, p.seek = max(paceFirst, got), 2
	case p.at.Before(p.cut): // the API may accept nothing until its next second
		if p.vain++; p.vain%paceVain == 0 {
			p.top /= 2
		}
	case p.seek > 0:
		p.top, p.seek = was, p.seek-1
	default:
		p.top = min(was, max(2*got, paceFirst)) // while few events came, the rate has risen without need
	}
	p.top, p.cut = max(p.top, paceLeast), now
	p.next = now.Add(min(p.every(now)<<(p.vain%paceVain), time.Second))
	return p
}

// every returns the time between two events.
func (p pace) every(now time.Time) time.Duration {
	return time.Duration(float64(time.Second) / p.rate(now))
}

// begins notes that an event is sent.
func (p pace) begins(now time.Time) pace {
	p.next = later(p.next, now.Add(-paceBurst)).Add(p.every(now))
	return p
}

// isOver reports whether events may be sent without a bound.
func (p pace) isOver(now time.Time) bool { return now.Sub(p.cut) > paceOver }

// isKnown reports whether the rate is remembered.
func (p pace) isKnown(now time.Time) bool { return p.top > 0 && now.Sub(p.cut) <= paceLasts }
