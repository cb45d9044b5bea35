package footfall

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/footfall-dev/footfall/internal/retry"
	"github.com/footfall-dev/footfall/internal/safelog"
	"github.com/footfall-dev/footfall/internal/senders"
	"github.com/footfall-dev/footfall/internal/wire"
)

// httpTransport is the default Transport. It posts events to the API, one per request, on as
// many senders as the backlog needs.
type httpTransport struct {
	poster        Poster
	key           func() string // see wire.Cleaner
	backoff       retry.Backoff // of an event that failed
	maxRetryAfter time.Duration
	timeout       time.Duration // of an attempt
	look          time.Duration // after which held events that are due and not sent are looked at
	rejected      func(*RejectedError)
	accepted      Outcome       // of an event that the API accepted: OutcomeDelivered, or OutcomeStored
	patience      time.Duration // of Close while no event is settled
	workers       sync.Pool     // of *worker

	mu          sync.Mutex // held while a sender takes an event, or reports the result of an attempt
	pool        senders.Pool
	share       senders.Share // of doubtful events
	scopes      *retry.Scopes
	log         retry.Log
	picks       uint      // counts events that were taken
	probed      bool      // of probes and suspects, a probe was taken last
	closing     bool      // a sender has noticed that the tracker closes
	interrupted bool      // the last attempt that failed was interrupted
	delivered   time.Time // when the API last accepted an event
	settled     time.Time // when the API last settled an event after that; if it ever did before, when that was
}

// worker is the state of a sender. Workers are pooled, so that starting a sender does not
// allocate.
type worker struct {
	one          [1]Record
	kind         retry.Kind // of the event, if known
	known        bool
	admission    retry.Admission
	doubtful     bool // the attempt is counted in the share of doubtful events
	closing      bool // it began when the tracker was closing
	answer       Answer
	sender       senders.Sender
	interruption senders.Interruption // of the attempt
}

var _ Transport = (*httpTransport)(nil)

func newHTTPTransport(cfg *Config, p Poster, r *reporter) *httpTransport {
	wait := retry.Backoff{Base: cfg.BackoffMin, Max: cfg.BackoffMax}
	probe := retry.Backoff{Base: cfg.ProbeMin, Max: cfg.ProbeMax, Low: 0.5}
	key := cfg.APIKey
	look := max(cfg.FlushInterval, leastLook)
	if cfg.MaxInFlight == 1 {
		look = leastLook // the sender does not wait with doubtful events only
	}
	return &httpTransport{
		poster:        p,
		key:           func() string { return key },
		backoff:       wait,
		maxRetryAfter: cfg.MaxRetryAfter,
		timeout:       cfg.AttemptTimeout,
		look:          look,
		log:           retry.Log{To: cfg.Logger},
		pool:          senders.NewPool(cfg.MaxInFlight, cfg.FlushInterval),
		share:         senders.Share{Senders: cfg.MaxInFlight},
		scopes:        retry.NewScopes(retry.Waits{Retry: wait, Hold: probe}),
		rejected:      r.rejected,
		accepted:      OutcomeDelivered,
		patience:      closePatience,
		workers:       sync.Pool{New: func() any { return new(worker) }},
	}
}

// Deliver implements Transport. It starts senders whenever events are due. A sender ends when
// it finds no event that it may send.
func (t *httpTransport) Deliver(ctx context.Context, src *Source) {
	defer t.poster.Close()
	var running sync.WaitGroup
	for {
		waiting, ok := src.wait(ctx, t.idle)
		if !ok {
			break
		}
		n := t.wanted(waiting, src)
		for ; n > 0 && t.start(); n-- {
			running.Go(func() { t.send(ctx, src) })
		}
		again := t.interruptStuck(src, n, &running)
		src.lookLater(t.look, again)
	}
	src.again.Stop()
	running.Wait()
	t.giveUp(src)
}

// leastLook is the shortest time after which Deliver looks again for held events that are due and
// that no sender has taken.
const leastLook = 100 * time.Millisecond

// wanted returns how many senders to start for the given number of waiting events. While the tracker
// closes, each event has a sender.
func (t *httpTransport) wanted(waiting int, src *Source) (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n = t.pool.Wanted(waiting)
	if src.isClosing() {
		return waiting
	}
	return n
}

// interruptStuck ends attempts that take long: up to n, because n senders more should run; while the API
// accepts nothing, all, because other events may be probes then. It returns after which time there may
// be others, or 0.
func (t *httpTransport) interruptStuck(src *Source, n int, running *sync.WaitGroup) (again time.Duration) {
	t.mu.Lock()
	p := senders.Patience{Closing: src.isClosing(), All: t.scopes.APIOpen()}
	p.All = p.All || p.Closing && t.scopes.AnyOpen()
	stuck, again := t.pool.Stuck(n, p, time.Now())
	t.mu.Unlock()
	for _, interrupt := range stuck {
		running.Go(interrupt)
	}
	return again
}

// idle reports whether no sender runs.
func (t *httpTransport) idle() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.pool.Running() == 0
}

// start counts a new sender and reports whether one may start.
func (t *httpTransport) start() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.pool.Start()
}

// endSender stops counting a sender. It is called with the lock held.
func (t *httpTransport) endSender(src *Source, w *worker) {
	t.pool.End(&w.sender)
	if src.isClosing() {
		src.signal() // Wait may return now
	}
}

// send delivers events one after another until there is none that may be sent.
func (t *httpTransport) send(ctx context.Context, src *Source) {
	w := t.workers.Get().(*worker)
	w.sender = senders.Sender{Interruption: &w.interruption}
	over := false
	defer func() {
		if !over { // runtime.Goexit in code of the application
			t.mu.Lock()
			t.endSender(src, w)
			t.mu.Unlock()
			src.Wake()
		}
	}()
	for t.takeEvent(ctx, src, w) {
		t.deliver(ctx, src, w)
	}
	over = true
	w.one[0] = Record{} // it keeps a slab alive
	t.workers.Put(w)
}

// takeEvent gives w an event that may be sent now. If there is none, it stops counting the sender
// with the lock held, so that another sender starts for the next event.
func (t *httpTransport) takeEvent(ctx context.Context, src *Source, w *worker) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if ctx.Err() == nil && t.pick(src, w) {
		a := &w.one[0].attempts
		slow := t.interrupted && !w.closing && t.scopes.APIOpen() // perhaps the API accepts events, but takes long
		t.pool.BeginAttempt(&w.sender, slow || a.Interrupted, a.Waived, w.admission.Began)
		return true
	}
	t.endSender(src, w)
	return false
}

// deliver makes one attempt, and then settles the event or gives it back, even if the attempt
// ends the goroutine. It writes to the log last, because the log may be slow.
func (t *httpTransport) deliver(ctx context.Context, src *Source, w *worker) {
	end := ending{verdict: wire.Later, err: errEnded}
	defer func() {
		if line := t.finish(src, w, &end); line != nil {
			line()
		}
	}()
	t.attempt(ctx, w, &end)
}

// ending is the result of an attempt.
type ending struct {
	verdict     wire.Verdict
	status      int
	cut         bool // the context ended, which is no failure of the API
	interrupted bool // the attempt was interrupted, because other events waited for the sender
	err         error
	retryAfter  time.Duration // from Retry-After
}

// errEnded is the error of an attempt that ended its goroutine.
var errEnded = fmt.Errorf("footfall: the Poster or Config.HTTPClient ended its goroutine: %w", safelog.ErrGoexit)

// attempt posts the event once.
func (t *httpTransport) attempt(ctx context.Context, w *worker, end *ending) {
	w.answer.reset()
	w.interruption.Begin()
	r := w.one[0]
	r.interruption = &w.interruption
	err := t.poster.Post(ctx, r, &w.answer)
	took := time.Since(w.admission.Began)
	interrupted := w.interruption.End()
	switch {
	case err != nil && ctx.Err() != nil:
		*end = ending{cut: true, err: ctx.Err()}
		return
	case err != nil && interrupted:
		err = fmt.Errorf("no answer in %v, and other events wait for the sender", took.Round(time.Millisecond))
	}
	a := wire.Answer{Status: w.answer.Status, Body: w.answer.Body, RetryAfter: w.answer.RetryAfter, Cut: w.answer.Cut, Err: err, Key: t.key}
	*end = ending{verdict: a.Verdict(), status: a.Status, interrupted: interrupted && took < t.timeout}
	switch {
	case end.verdict == wire.Accepted:
		return
	case end.verdict != wire.Refused && ctx.Err() != nil: // the answer was cut off
		*end = ending{cut: true, err: ctx.Err()}
		return
	}
	end.err = failure(&a, t.log.Of)
	if end.verdict != wire.Refused {
		limit := t.maxRetryAfter
		if w.closing {
			limit = min(limit, closeWait)
		}
		end.retryAfter = retry.After(a.RetryAfter, w.answer.Date, time.Now(), limit)
	}
}

// finish reports the result of an attempt to the circuit breakers, and settles the event or gives it
// back. It returns a function that writes to the log, or nil.
func (t *httpTransport) finish(src *Source, w *worker, end *ending) (line func()) {
	switch {
	case end.cut:
		t.cancel(w)
		src.Settle(w.one[:], OutcomeLost, cmp.Or(src.Failure(), end.err))
		return nil
	case end.verdict == wire.Accepted:
		line = t.accept(src, w, true)
		src.Settle(w.one[:], t.accepted, nil)
		return line
	case end.verdict == wire.Refused:
		line = t.accept(src, w, false)
		t.reject(src, w, end)
		return line
	}
	line, refused := t.fail(src, w, end)
	if refused {
		t.reject(src, w, end)
	}
	return line
}

// reject settles an event that the API has refused for good.
func (t *httpTransport) reject(src *Source, w *worker, end *ending) {
	r := w.one[0]
	t.rejected(&RejectedError{ID: r.IdempotencyKey(), Body: bytes.Clone(r.Body), Err: end.err})
	src.Settle(w.one[:], OutcomeRejected, end.err)
}

// ended notes that the attempt of w has ended. answered says that the API has settled the event. It
// is called with the lock held.
func (t *httpTransport) ended(w *worker, answered bool, now time.Time) {
	t.pool.EndAttempt(&w.sender, answered, now)
	if w.doubtful {
		began := w.admission.Began
		if w.admission.IsWide() && !t.scopes.AcceptsEvents(began) {
			began = now // it has taken no time from others: the API accepts none
		}
		t.share.End(began, answered, now)
	}
}

// kindOf returns the kind of the event of w.
func (w *worker) kindOf() retry.Kind {
	if !w.known {
		w.kind, w.known = retry.NewKind(wire.SiteAndName(w.one[0].Body)), true
	}
	return w.kind
}

// cancel reports that the context has ended the attempt.
func (t *httpTransport) cancel(w *worker) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended(w, false, time.Now())
	if w.admission.IsProbe() {
		t.scopes.Cancel(w.kindOf(), w.admission)
	}
}

// accept reports that the API has settled the event. delivered says that it has accepted it.
func (t *httpTransport) accept(src *Source, w *worker, delivered bool) (line func()) {
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if delivered {
		t.delivered = now
	}
	t.ended(w, true, now)
	if t.closing {
		t.settled = now
	}
	again := w.one[0].attempts.Failures > 0
	if t.scopes.NothingFailed() && !again {
		t.scopes.Accept(retry.Kind{}, w.admission, now)
		return nil
	}
	if again {
		t.scopes.Retried(true)
		if w.one[0].attempts.Limited {
			t.scopes.Recovered(w.kindOf(), now)
		}
	}
	if t.scopes.AnyOpen() {
		src.held.Accepted(now)
	}
	c := t.scopes.Accept(w.kindOf(), w.admission, now)
	t.changed(src, w, c, now)
	if !c.Logged {
		return nil
	}
	return t.log.Ended(now)
}

// changed lets the held events wait for the breakers that are open now.
func (t *httpTransport) changed(src *Source, w *worker, c retry.Change, now time.Time) {
	if c.Opened || c.Closed {
		src.held.Regroup(t.scopes.BlockOf, now)
	} else if b := t.scopes.BlockOf(w.kindOf()); b.IsSet() {
		src.held.SetDue(b, now) // an attempt that was in flight may have moved the next probe
	}
	if c.Closed {
		src.Wake()
	}
}

// unsureTime is how long an event must have got a 4xx without the API's error body before that is final. A
// proxy may answer so while its servers restart.
const unsureTime = time.Minute

// fewRefusals is how many answers to an event may show that the API bounds the rate. An event that gets more is
// probably the only one of its kind that does.
const fewRefusals = 10

// slowFailure is the time after which a failed attempt counts twice, because it occupied a
// sender for that time.
const slowFailure = time.Second

// fail reports that the attempt has failed, and gives the event back. It reports whether the event
// is refused for good instead.
func (t *httpTransport) fail(src *Source, w *worker, end *ending) (line func(), refused bool) {
	now := time.Now()
	r, kind := w.one[0], w.kindOf()
	a := &r.attempts
	unsure := end.verdict == wire.NotAPI && end.status >= 400 && end.status != http.StatusProxyAuthRequired
	limits := (end.retryAfter > 0 || end.status == http.StatusTooManyRequests) && a.Failures < fewRefusals
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended(w, false, now)
	t.interrupted = end.interrupted
	if unsure && !a.Unsure.IsZero() && now.Sub(a.Unsure) >= unsureTime && t.delivered.After(a.Last) {
		t.scopes.Cancel(kind, w.admission)
		t.changed(src, w, retry.Change{}, now)
		return nil, true
	}
	if a.Failures > 0 {
		t.scopes.Retried(false)
	}
	f := retry.Failure{
		First:      a.Failures == 0,
		Counted:    int(a.Counted),
		Class:      failureClass(end),
		NoAPI:      !unsure && (end.status == 0 || end.verdict == wire.NotAPI || end.status == http.StatusUnauthorized),
		Limits:     limits,
		RetryAfter: end.retryAfter,
		Took:       now.Sub(w.admission.Began),
		Err:        end.err,
	}
	c := t.scopes.Fail(kind, w.admission, &f, now)
	if c.Limits {
		a.Counted++
	}
	since := w.admission.Began
	if a.Failures > 0 {
		since = a.Last
	}
	suspect := false
	if !w.closing && !limits && t.scopes.AcceptedSince(kind, since) {
		suspect = a.Strike(f.Took >= slowFailure)
	}
	if end.interrupted {
		if !a.Interrupted || t.settled.IsZero() {
			w.closing, a.AtClose = false, false // it gets all its time once
		}
		a.Interrupt(w.sender.Waived())
	}
	a.Failed(unsure, limits, now)
	random := t.scopes.FailsAtRandom() && !a.Slow
	doubted := a.Suspect() && !random
	wait := max(t.wait(a, w, doubted, random), t.leastWait(w, &f, random, since))
	if t.closing && !t.settled.IsZero() && now.Sub(t.settled) > t.patience {
		src.held.Suspend()
	}
	line = t.logLine(w, end, suspect && !w.admission.IsProbe(), now)
	src.hold(r, retry.Event[*Record]{Kind: kind, Suspect: doubted, Failed: int(a.Failures), Took: f.Took, Wait: wait, Err: r.name(end.err)}, t.scopes.BlockOf(kind), now)
	t.changed(src, w, c, now)
	return line, false
}

// logLine returns a function that writes to the log why events are not accepted, or nil. suspect says
// that the event of w has become one.
func (t *httpTransport) logLine(w *worker, end *ending, suspect bool, now time.Time) (line func()) {
	if suspect {
		site, name := wire.SiteAndName(w.one[0].Body)
		return t.log.Suspect(w.one[0].IdempotencyKey(), string(site), string(name), end.err, now)
	}
	class := failureClass(end)
	tell, all := t.scopes.ShouldLog(w.kindOf(), class, now)
	if !tell {
		return nil
	}
	site, name := wire.SiteAndName(w.one[0].Body)
	return t.log.Began(class, all, string(site), string(name), end.err, now)
}

// failureClass returns the class of a failed answer for the circuit breakers.
func failureClass(end *ending) retry.Class {
	switch {
	case end.verdict == wire.NotAPI:
		return retry.NotAPI
	case end.status == http.StatusUnauthorized:
		return retry.KeyRefused
	case end.verdict == wire.BadKey:
		return retry.Forbidden
	}
	return retry.Later
}
