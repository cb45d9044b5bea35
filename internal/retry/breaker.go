package retry

import (
	"log/slog"
	"sync"
	"time"
)

// Breaker is the circuit breaker of all senders. The first answer that means "retry later"
// opens it, and the senders stop. After a wait one of them sends a probe, whose answer closes
// the breaker or keeps it open for longer. So an outage costs one request per step of the
// backoff, not one per event.
//
// A failure may be the event's fault, so the next probe is another event if there is one.
// Random fresh events and retries take turns. An event that was accepted after the last probe
// was sent is news. It is tried at once, one for each probe.
type Breaker struct {
	retry Backoff // after "retry later"
	hold  Backoff // after several answers in a row that hold everything
	log   *slog.Logger
	of    string // what accepts events, for the log
	wake  func() // called when a sender may start
	timer *time.Timer

	mu       sync.Mutex
	turn     uint64 // counts openings and closings; answers to older requests do not open the breaker
	open     bool
	firm     bool      // the API named the time, or answered 429: only a probe closes it
	asked    time.Time // the API asked to wait until then: nothing is sent early
	step     int       // failed probes in a row
	holds    int       // of those, after quickSteps, the answers that hold every event
	until    time.Time
	probing  bool      // a probe is in flight
	sent     time.Time // when the last probe was sent
	newsFrom time.Time // events that arrived later are news
	early    int       // how many news may be tried before until
	earlyAt  time.Time // when the next of them may be tried
	tryRetry bool      // the next probe is a retry, if there is one
	likely   bool      // a retry closed the breaker last
	brief    int       // openings in a row that the first probe ended
	passes   uint64    // answers that settled an event
	failures int       // in a row, since an event was settled
	row      int       // first attempts among them
	since    time.Time
	told     uint8                 // a bit for each reason that was logged since the breaker opened
	last     [NotAPI + 1]time.Time // when each reason was logged
}

// logEvery is the least time between two lines for the same reason.
const logEvery = time.Minute

// patience is how many consecutive failures, of events that have failed before, open the
// breaker. One such failure says nothing about the API, which has accepted other events since.
const patience = 10

// quickSteps is how many probes fail before the wait grows. An answer to some events only, such
// as a firewall's, must not hold the others.
const quickSteps = 5

// NewBreaker returns a closed Breaker that backs off with retry, and with hold after several
// answers in a row that hold everything.
func NewBreaker(retry, hold Backoff, log *slog.Logger) *Breaker {
	b := &Breaker{retry: retry, hold: hold, log: log, wake: func() {}, of: "the API"}
	b.timer = time.AfterFunc(time.Hour, b.timeOver)
	b.timer.Stop()
	return b
}

// timeOver is called by the timer. If too many events have failed since the timer was set for
// an early attempt, the next probe is still due at its time.
func (b *Breaker) timeOver() {
	b.mu.Lock()
	b.awaitProbe()
	b.mu.Unlock()
	b.wake()
}

// awaitProbe sets the timer to the time of the next probe, unless that time has passed.
func (b *Breaker) awaitProbe() {
	if rest := time.Until(b.until); b.open && rest > 0 {
		b.timer.Reset(rest)
	}
}

// OnWake sets the function that is called when a sender may start. It must be called before the
// first attempt. The breaker may be locked when it calls wake.
func (b *Breaker) OnWake(wake func()) { b.wake = wake }

// Of sets the name of what accepts events, for the log. It must be called before the first
// attempt.
func (b *Breaker) Of(name string) { b.of = name }

// Stop stops the timer.
func (b *Breaker) Stop() { b.timer.Stop() }

// Admit returns what a sender may do now. The sender must report a probe with [Breaker.Passed],
// [Breaker.Failed] or [Breaker.Unused].
func (b *Breaker) Admit() Pass {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := Pass{turn: b.turn, RetryFirst: b.tryRetry, Since: b.newsFrom, Passes: b.passes}
	if b.few() {
		p.Since = time.Time{}
	}
	switch {
	case !b.open:
		p.Admission = Anything
	case b.probing:
		if b.mayOverlap() {
			p.Admission, p.overlaps = NewsProbe, true
			b.early--
			b.earlyAt = time.Now().Add(b.retry.Base)
			b.timer.Reset(b.retry.Base)
		}
	case !time.Now().Before(b.until):
		b.begin()
		p.Admission = Probe
	case b.mayBeEarly():
		b.begin()
		p.Admission = NewsProbe
	}
	return p
}

// begin notes that a probe is sent.
func (b *Breaker) begin() {
	b.probing, b.sent = true, time.Now()
	if b.hasEarly() {
		b.timer.Reset(b.retry.Base) // when another probe may overlap it
	}
}

// mayOverlap reports whether a fresh event may be tried while a probe is in flight, because the
// probe may be an event that hangs.
func (b *Breaker) mayOverlap() bool {
	return b.mayBeEarly() && time.Since(b.sent) >= b.retry.Base
}

// Closed reports whether every sender may send.
func (b *Breaker) Closed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.open
}

// Outage reports whether the breaker is open for more than a moment: more first attempts have
// failed in a row than may each have another reason, or a probe has failed, or the API named a
// time.
func (b *Breaker) Outage() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.open && (!b.few() || b.step > 0 || b.firm)
}

// Accepts reports whether the API seems to accept events: it has settled some, and too few have
// failed since for an outage.
func (b *Breaker) Accepts() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.passes > 0 && b.few() && (!b.open || b.step == 0)
}

// Probes returns how many senders might be admitted while the breaker is open.
func (b *Breaker) Probes() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	may := b.mayBeEarly() || !time.Now().Before(b.until)
	if b.probing {
		may = b.mayOverlap()
	}
	if !may {
		return 0
	}
	return 1
}

// mayBeEarly reports whether an event may be tried before the next probe is due. Any fresh
// event may be while few events have failed; otherwise only an event that arrived after the
// last probe was sent.
func (b *Breaker) mayBeEarly() bool {
	return b.hasEarly() && !time.Now().Before(b.earlyAt)
}

func (b *Breaker) hasEarly() bool {
	return (b.early > 0 || b.few()) && !time.Now().Before(b.asked)
}

// few reports whether too few first attempts have failed in a row for an outage: each event may
// have failed for another reason. Failed retries do not count.
func (b *Breaker) few() bool { return b.row <= quickSteps }

// Current returns a Pass for a request that is sent even if the breaker is open.
func (b *Breaker) Current() Pass {
	b.mu.Lock()
	defer b.mu.Unlock()
	return Pass{Admission: Anything, turn: b.turn, Passes: b.passes}
}

// Unused reports that there was no event for the probe, or that the probe was canceled.
func (b *Breaker) Unused(p Pass) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case p.Admission <= Anything || p.turn != b.turn:
	case p.overlaps: // the next fresh event wakes a sender by itself
		b.early++
		b.earlyAt = time.Now()
		b.timer.Stop()
		b.awaitProbe()
	default:
		b.probing = false
		b.timer.Reset(time.Until(b.until))
	}
}

// Passed reports that the API's answer settled an event, and closes the breaker. A request that
// was in flight when the breaker opened closes it too, so that one failure among many
// successes does not stop all senders, unless the API said how long to wait. The result
// writes a line to the log; it is nil if there is none.
func (b *Breaker) Passed(p Pass, retry bool) (line func()) {
	told, since := b.close(p, retry)
	if !told {
		return nil
	}
	after := time.Since(since).Round(time.Millisecond)
	return func() { b.log.Info("footfall: "+b.of+" accepts events again", "after", after) }
}

// close closes the breaker and reports whether the log says that it was open, and since when.
func (b *Breaker) close(p Pass, retry bool) (told bool, since time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failures, b.row = 0, 0
	b.passes++
	if !b.open || b.firm && p.turn != b.turn {
		return false, time.Time{}
	}
	if p.turn == b.turn {
		b.likely = retry
		if b.step == 0 {
			b.brief++
		}
	}
	told = b.told != 0
	b.open, b.told, b.firm, b.probing, b.asked = false, 0, false, false, time.Time{}
	b.turn++
	b.timer.Stop()
	b.wake()
	return told, b.since
}

// Failed reports a failed attempt. The result writes a line to the log; it is nil if there is
// none.
func (b *Breaker) Failed(p Pass, f *Failure) (line func()) {
	if !b.fail(p, f) {
		return nil
	}
	v, err := f.Class, f.Err
	return func() { b.tell(v, err) }
}

// fail notes a failure and reports whether it must be logged.
func (b *Breaker) fail(p Pass, f *Failure) (tell bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failures++
	if f.Failures == 0 {
		b.row++
	}
	now := time.Now()
	v, asked := f.Class, f.Asked
	firm := asked > 0 || f.TooMany
	switch {
	case b.open && (p.turn != b.turn || p.Admission == Anything), // it is known already
		p.turn != b.turn && !firm: // or has passed since
		b.postpone(firm, now.Add(asked))
		return false
	case !b.open && f.Failures > 0 && (asked == 0 || f.Strikes > 0) && b.failures < patience:
		return false // the event may be the reason
	case p.Admission == NewsProbe && asked == 0:
		if !p.overlaps {
			b.early--
		}
		b.newsFrom, b.earlyAt = b.sent, now.Add(b.retry.Delay(0))
	default:
		held := b.until // by another answer while the probe was in flight
		b.extend(f, now)
		b.until = now.Add(max(b.wait(v), asked))
		if b.firm && held.After(b.until) {
			b.until, firm = held, true
		}
	}
	b.open, b.firm, b.probing = true, firm, false
	if asked > 0 {
		b.asked = b.until
	}
	b.turn++
	b.arm(now)
	if b.mayBeEarly() {
		b.wake() // for events that arrived while the probe was in flight
	}
	return !f.Suspect() && b.news(v, now)
}

// extend opens the breaker, or keeps it open after a probe.
func (b *Breaker) extend(f *Failure, now time.Time) {
	retry, v := f.Failures > 0, f.Class
	switch {
	case !b.open:
		b.since, b.sent, b.step, b.holds = now, now, 0, 0
		b.tryRetry = b.likely && !retry
		b.beEarly(retry || v != Later, now)
	default:
		b.step++
		b.brief /= 2
		b.beEarly(retry && !b.tryRetry || v != Later, now)
		b.tryRetry = !retry && v == Later // a key that is refused now is refused for all
	}
	if v != Later && b.step > quickSteps {
		b.holds++
	}
}

// arm sets the timer to the time when something may be sent.
func (b *Breaker) arm(now time.Time) {
	next := b.until
	if b.hasEarly() && b.earlyAt.Before(next) && b.earlyAt.After(now) {
		next = b.earlyAt
	}
	b.timer.Reset(next.Sub(now))
}

// beEarly allows an early attempt for the next event that arrives, or for the next five if
// there was no fresh event to try or the waits are long. While few events have failed, any
// fresh event is tried after the shortest wait.
func (b *Breaker) beEarly(five bool, now time.Time) {
	b.newsFrom, b.early, b.earlyAt = b.sent, 1, b.sent
	if five {
		b.early = quickSteps
	}
	if b.few() {
		b.earlyAt = now.Add(b.retry.Delay(0))
	}
}

// postpone applies a Retry-After that arrives while the breaker is open, if it is longer than
// the last one. The answer to a probe in flight does not end the wait, because the probe was
// sent before.
func (b *Breaker) postpone(firm bool, until time.Time) {
	if !firm || !b.open {
		return
	}
	b.firm = true
	if until.After(b.asked) {
		b.asked = until
	}
	if until.After(b.until) {
		b.until = until
		b.turn++
		b.probing = false
		b.timer.Reset(time.Until(until))
	}
}

// wait returns how long to wait for the next probe. The first wait is shorter each time that the
// probe after the last first wait passed, because many events may fail for different reasons.
func (b *Breaker) wait(v Class) time.Duration {
	switch {
	case b.step == 0:
		return b.retry.Delay(0) >> min(b.brief, 10)
	case b.step < quickSteps:
		return b.retry.Delay(0)
	case v == Later:
		return b.retry.Delay(b.step - quickSteps + 1)
	}
	return b.hold.Delay(b.holds)
}

// news reports whether a failure must be logged: once per outage and reason, after the second
// failure, because the event may be the reason for the first. Short outages are logged once a
// minute.
func (b *Breaker) news(v Class, now time.Time) bool {
	if b.told&(1<<v) != 0 || b.step == 0 || now.Sub(b.last[v]) < logEvery {
		return false
	}
	b.told |= 1 << v
	b.last[v] = now
	return true
}

func (b *Breaker) tell(v Class, err error) {
	switch v {
	case Later:
		b.log.Warn("footfall: "+b.of+" does not accept events; they are kept and retried", "error", err)
	case BadKey:
		b.log.Error("footfall: the API refuses the key; events are held until it is accepted", "error", err)
	default:
		b.log.Error("footfall: the server is not the Site Analytics API; events are held; check BaseURL", "error", err)
	}
}
