package retry

import "time"

// Class is what the answer to a failed attempt means.
type Class uint8

const (
	Later      Class = iota // "retry later", or no answer
	Forbidden               // 403: the key is refused, or a firewall refuses the request
	KeyRefused              // 401: the key is refused
	NotAPI                  // something other than the API answers
)

// lasts reports whether the cause of such answers is probably removed by a person, so that probes
// may wait longer.
func (c Class) lasts() bool { return c != Later }

// probes is the schedule of an open circuit breaker. It is a value; its methods return the next one.
type probes struct {
	step      int       // failed probes in a row
	lasting   int       // of those, after quickSteps, the answers whose Class holds
	next      time.Time // when the next probe is due
	notBefore time.Time // the API asked to wait until then
	last      time.Time // when the last probe began
	newest    time.Time // when the last one began that was the newest event
	inFlight  int
	earlyLeft int // events that were never sent that may be tried before next
}

const (
	// quickSteps is how many probes fail before the wait grows.
	quickSteps = 5

	// earlyAgain is how many events may be sent early after a probe whose wait is long.
	earlyAgain = 3
)

// Waits are the waits between probes.
type Waits struct {
	Retry Backoff // after "retry later", or no answer
	Hold  Backoff // after several answers that a person has to do something about
}

// opened returns the schedule of a breaker that opens because of f.
func opened(f *Failure, now time.Time, w *Waits) probes {
	p := probes{last: now, newest: now, earlyLeft: quickSteps, next: now.Add(w.after(probes{}, f.Class))}
	return p.retryAfter(f, now)
}

// after returns how long to wait for the next probe.
func (w *Waits) after(p probes, c Class) time.Duration {
	switch {
	case p.step < quickSteps:
		return w.Retry.Delay(0)
	case c.lasts():
		return w.Hold.Delay(p.lasting)
	}
	return w.Retry.Delay(p.step - quickSteps + 1)
}

// retryAfter notes how long the API asked to wait.
func (p probes) retryAfter(f *Failure, now time.Time) probes {
	if until := now.Add(f.RetryAfter); f.RetryAfter > 0 && until.After(p.notBefore) {
		p.notBefore = until
	}
	return p
}

// Due is when events may be sent while a breaker is open. Events of kinds for which the API has named a time
// are not sent before it: see [Due.of].
type Due struct {
	Next  time.Time // any event
	Early time.Time // an event that was never sent
	New   time.Time // an event that arrived after Since
	Since time.Time // when an event was last sent that was the newest one
	Last  time.Time // while probes are frequent, when the last one began; else zero

	began     time.Time // when an event was last sent while the breaker was open, or when it opened
	notBefore time.Time
	one       bool // only one event has failed, as far as is known
}

// of returns when events of a kind may be sent. asked is the time that the API has named for that kind: the
// time that it has named for another one may be later. If only one event has failed, the API has asked it to wait, and not
// those that were never sent.
func (d Due) of(asked time.Time) Due {
	until := earlier(d.notBefore, asked)
	d.Next = later(d.Next, until)
	if !d.one {
		d.Early, d.New = later(d.Early, until), later(d.New, until)
	}
	return d
}

// due returns when events may be sent. A few events that were never sent are sent early, because
// they may differ from those that have failed: those that arrive, and others as long as few have
// failed. They wait until gap after the last probe, and do not wait for the answer to a probe that
// takes longer.
func (p probes) due(fewFailed bool, gap time.Duration) (d Due) {
	d.Next = p.next
	if p.inFlight > 0 {
		d.Next = never
	}
	d.Early, d.New, d.Since, d.began, d.notBefore = d.Next, d.Next, p.newest, p.last, p.notBefore
	if p.step < quickSteps {
		d.Last = p.last
	}
	soon := p.last.Add(gap)
	if p.earlyLeft <= 0 && !fewFailed || !soon.Before(d.Next) {
		return d
	}
	d.New = soon
	if fewFailed {
		d.Early = soon
	}
	return d
}

// never is later than all other times.
var never = time.Unix(1<<40, 0)

// begins notes that an event is sent. newest says that no other one is newer. It reports whether that
// is earlier than the next probe is due.
func (p probes) begins(newest bool, now time.Time) (next probes, early bool) {
	early = p.inFlight > 0 || now.Before(p.next)
	if early {
		p.earlyLeft = max(0, p.earlyLeft-1)
	}
	if newest {
		p.newest = now
	}
	p.last = now
	p.inFlight++
	return p, early
}

// canceled notes that a probe was canceled.
func (p probes) canceled(early bool) probes {
	p.inFlight--
	if early {
		p.earlyLeft++
	}
	return p
}

// fail notes that a probe has failed. An early probe leaves the next probe where it is. Every second one of the other
// probes allows another early one.
func (p probes) fail(f *Failure, early bool, now time.Time, w *Waits) probes {
	p.inFlight--
	if !early {
		p.step++
		refill := p.step % 2
		if f.Class.lasts() {
			refill = earlyAgain // because the waits are long
			if p.step > quickSteps {
				p.lasting++
			}
		}
		p.earlyLeft = min(p.earlyLeft+refill, quickSteps)
		p.next = now.Add(w.after(p, f.Class))
	}
	return p.retryAfter(f, now)
}

// hurry makes the next probe due by limit.
func (p *probes) hurry(limit time.Time) { p.next = earlier(p.next, limit) }
