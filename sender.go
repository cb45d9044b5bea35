package footfall

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/semaphore"

	"github.com/footfall-dev/footfall/internal/retry"
	"github.com/footfall-dev/footfall/internal/safelog"
	"github.com/footfall-dev/footfall/internal/wire"
)

// eventsPerSender is how many waiting events call for one more request in flight, at most:
// as many as a sender delivers within the flush interval.
const eventsPerSender = 8

// httpTransport is the default Transport: it posts events to the API, one per
// request, on as many senders as the backlog needs.
type httpTransport struct {
	poster   Poster
	key      func() string // see wire.Cleaner
	breaker  *retry.Breaker
	backoff  retry.Backoff // of an event that failed
	longest  time.Duration // of Retry-After
	log      *slog.Logger
	most     int // senders
	interval time.Duration
	rejected func(Record, error)
	workers  sync.Pool // of *worker

	mu       sync.Mutex // held while a sender takes an event or ends
	slots    *semaphore.Weighted
	running  int
	looks    uint64        // how often wanted was asked
	usual    time.Duration // how long an attempt takes
	moving   int           // senders that run, and have ended an attempt since the last time
	suspects int           // in flight
	nextTurn time.Time     // when a suspect may be sent in place of another event
	told     time.Time     // when the log was told of a suspect
	closing  bool          // a sender has seen that the tracker closes
	settled  time.Time     // when the API last settled an event since then
	vain     int           // attempts since then that failed, of events that had failed since then
}

// worker is what a sender works with. It is used again, so that a sender that ends for
// want of events and is started for the next ones costs no memory.
type worker struct {
	one      [1]Record
	began    time.Time
	pass     retry.Pass
	closing  bool   // the attempt began when the tracker was closing
	look     uint64 // when it was last counted as moving
	attempts int
	took     time.Duration // by the last attempt, if the API settled the event
	answer   Answer
}

var _ Transport = (*httpTransport)(nil)

func newHTTPTransport(cfg *Config, p Poster, r *reporter) *httpTransport {
	wait := retry.Backoff{Base: cfg.BackoffMin, Max: cfg.BackoffMax}
	probe := retry.Backoff{Base: cfg.ProbeMin, Max: cfg.ProbeMax, Low: 0.5}
	key := cfg.APIKey
	return &httpTransport{
		poster:   p,
		key:      func() string { return key },
		breaker:  retry.NewBreaker(wait, probe, cfg.Logger),
		backoff:  wait,
		longest:  cfg.MaxRetryAfter,
		log:      cfg.Logger,
		most:     cfg.MaxInFlight,
		interval: cfg.FlushInterval,
		slots:    semaphore.NewWeighted(int64(cfg.MaxInFlight)),
		rejected: r.rejected,
		workers:  sync.Pool{New: func() any { return new(worker) }},
	}
}

// Deliver implements Transport. It starts senders whenever events are due; a sender ends
// when it finds none that it may send.
func (t *httpTransport) Deliver(ctx context.Context, src *Source) {
	defer t.poster.Close()
	t.breaker.OnWake(src.Wake)
	defer t.breaker.Stop()
	var running sync.WaitGroup
	for {
		waiting, ok := src.wait(ctx, t.idle)
		if !ok {
			break
		}
		for range max(0, t.wanted(waiting, src)) {
			if !t.start() {
				break
			}
			running.Go(func() { t.send(ctx, src) })
		}
		if t.breaker.Closed() {
			src.lookLater(max(t.interval, leastLook))
		}
	}
	src.again.Stop()
	running.Wait()
	t.giveUp(src)
}

// leastLook is how often, at most, Deliver looks for retries that are due and that no sender has
// taken.
const leastLook = 100 * time.Millisecond

// wanted says how many senders to start for so many events. Those that run and have ended
// an attempt lately will take some; those that have not may be waiting for an answer that
// never comes. While the tracker closes all there may be are started at once.
func (t *httpTransport) wanted(waiting int, src *Source) int {
	t.mu.Lock()
	moving, each := t.moving, t.share()
	t.moving = 0
	t.looks++
	t.mu.Unlock()
	switch {
	case isClosed(src.Closing()):
		return waiting
	case !t.breaker.Closed():
		return t.breaker.Probes()
	}
	return (waiting+each-1)/each - moving
}

// share is how many events a sender delivers within the flush interval, more or less. It is
// called with the lock held.
func (t *httpTransport) share() int {
	return int(min(eventsPerSender, max(1, t.interval/max(1, t.usual))))
}

// learn takes note of how long the last attempt of w took. It is called with the lock held.
func (t *httpTransport) learn(w *worker) {
	if w.took > 0 {
		t.usual += (w.took - t.usual) / 8
		w.took = 0
	}
}

// idle reports whether no sender runs.
func (t *httpTransport) idle() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.running == 0
}

// start counts a sender in, if there may be one more.
func (t *httpTransport) start() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.slots.TryAcquire(1) {
		return false
	}
	t.running++
	return true
}

// end counts a sender out. It is called with the lock held.
func (t *httpTransport) end(src *Source, w *worker) {
	if t.counts(w) {
		t.moving--
	}
	t.running--
	t.slots.Release(1)
	if isClosed(src.Closing()) {
		src.signal() // Wait may be over
	}
}

// send delivers one event after the other until there is none that may be sent.
func (t *httpTransport) send(ctx context.Context, src *Source) {
	w := t.workers.Get().(*worker)
	w.attempts, w.look, w.took = 0, 0, 0
	over := false
	defer func() {
		if !over { // runtime.Goexit in code of the application
			t.mu.Lock()
			t.end(src, w)
			t.mu.Unlock()
			src.Wake()
		}
	}()
	for t.take(ctx, src, w) {
		t.deliver(ctx, src, w)
	}
	over = true
	w.one[0] = Record{} // which holds a slab
	t.workers.Put(w)
}

// take gives w an event that may be sent now. If there is none it counts the sender out at
// once: an event that comes after that must not be left to it.
func (t *httpTransport) take(ctx context.Context, src *Source, w *worker) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.learn(w)
	if ctx.Err() == nil && t.pick(src, w) {
		t.note(w)
		return true
	}
	t.end(src, w)
	return false
}

// note counts an attempt that begins.
func (t *httpTransport) note(w *worker) {
	if w.one[0].attempts.Suspect() {
		t.suspects++
	}
	if w.attempts++; w.attempts > 1 && w.look != t.looks {
		w.look = t.looks
		t.moving++
	}
}

// counts reports whether w is counted as moving.
func (t *httpTransport) counts(w *worker) bool { return w.look == t.looks && w.attempts > 1 }

// pick takes an event as the breaker allows. What the tracker leaves when it closes gets an
// attempt whatever the breaker says.
func (t *httpTransport) pick(src *Source, w *worker) bool {
	w.began = time.Now()
	w.closing = isClosed(src.Closing())
	if w.closing && !t.closing {
		t.closing = true
		if t.breaker.Accepts() {
			src.accept()
		}
	}
	if w.closing && src.untried(w.one[:]) {
		w.pass = t.breaker.Current()
		return true
	}
	w.pass = t.breaker.Admit()
	switch w.pass.Admission {
	case retry.Anything:
		return src.next(w.one[:], t.suspects < max(1, t.most/10), !w.began.Before(t.nextTurn))
	case retry.Probe:
		return t.probed(w, src.probe(w.one[:], w.pass.RetryFirst))
	case retry.NewsProbe:
		return t.probed(w, src.news(w.one[:], w.pass.Since))
	}
	return false
}

// probed tells the breaker if there was no event for its probe.
func (t *httpTransport) probed(w *worker, found bool) bool {
	if !found {
		t.breaker.Unused(w.pass)
	}
	return found
}

// deliver makes one attempt, and then settles the event or gives it back, also when the
// attempt ends the goroutine. The log is told last: it may be slow.
func (t *httpTransport) deliver(ctx context.Context, src *Source, w *worker) {
	suspect := w.one[0].attempts.Suspect()
	end := ending{verdict: wire.Later, err: errEnded}
	defer func() {
		if end.err == errEnded {
			end.line = t.breaker.Failed(w.pass, &retry.Failure{Attempts: w.one[0].attempts, Err: errEnded})
		}
		if suspect {
			t.suspectEnded(w)
		}
		t.finish(src, w, &end)
		if end.line != nil {
			end.line()
		}
	}()
	t.attempt(ctx, w, &end)
}

// suspectEnded notes the end of a suspect's attempt. While other events wait, suspects have at
// most a tenth of the time of all senders.
func (t *httpTransport) suspectEnded(w *worker) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.suspects--
	if t.nextTurn.Before(w.began) {
		t.nextTurn = w.began
	}
	t.nextTurn = t.nextTurn.Add(10 * time.Since(w.began) / time.Duration(t.most))
}

// ending is what became of an attempt.
type ending struct {
	verdict wire.Verdict
	cut     bool // by the end of the context, which says nothing about the API
	err     error
	asked   time.Duration // by Retry-After
	line    func()        // writes to the log; nil if there is nothing to say
}

// errEnded is why an attempt failed that ended its goroutine.
var errEnded = fmt.Errorf("footfall: the attempt ended its goroutine: %w", safelog.ErrGoexit)

// attempt posts the event once.
func (t *httpTransport) attempt(ctx context.Context, w *worker, end *ending) {
	r := w.one[0]
	w.answer.reset()
	err := t.poster.Post(ctx, r, &w.answer)
	took := time.Since(w.began)
	a := wire.Answer{Status: w.answer.Status, Body: w.answer.Body, RetryAfter: w.answer.RetryAfter, Cut: w.answer.Cut, Err: err, Key: t.key}
	if err != nil && ctx.Err() != nil {
		t.breaker.Unused(w.pass)
		*end = ending{cut: true, err: ctx.Err()}
		return
	}
	again := r.attempts.Failures > 0
	switch v := a.Verdict(); v {
	case wire.Accepted:
		w.took = took
		*end = ending{verdict: v, line: t.breaker.Passed(w.pass, again)}
	case wire.Refused:
		*end = ending{verdict: v, err: failure(&a), line: t.breaker.Passed(w.pass, again)}
		t.rejected(r, end.err)
	default:
		*end = ending{verdict: v, err: failure(&a), asked: retry.After(a.RetryAfter, time.Now(), t.longest)}
		end.line = t.breaker.Failed(w.pass, &retry.Failure{
			Attempts: r.attempts,
			Class:    failureClass(v),
			Asked:    end.asked,
			TooMany:  a.Status == http.StatusTooManyRequests,
			Err:      end.err,
		})
	}
}

// failureClass says what an answer other than success means for the circuit breaker.
func failureClass(v wire.Verdict) retry.Class {
	switch v {
	case wire.BadKey:
		return retry.BadKey
	case wire.NotAPI:
		return retry.NotAPI
	}
	return retry.Later
}

// finish settles the event, or gives it back.
func (t *httpTransport) finish(src *Source, w *worker, end *ending) {
	switch {
	case end.cut:
		src.Settle(w.one[:], Lost, cmp.Or(src.Failure(), end.err))
	case end.verdict == wire.Accepted:
		t.alive(src)
		src.Settle(w.one[:], Delivered, nil)
	case end.verdict == wire.Refused:
		t.alive(src)
		src.Settle(w.one[:], Rejected, end.err)
	default:
		t.giveBack(src, w, end)
	}
}

// giveBack returns an event that failed to the Source. An event that fails as a probe
// waits for the API like all others. One that fails while the API settles others waits by
// itself, longer each time.
func (t *httpTransport) giveBack(src *Source, w *worker, end *ending) {
	r := w.one[0]
	t.strike(r.ID, &r.attempts, w, end)
	if w.closing {
		t.inVain(src, r.attempts.Again)
	}
	src.Retry(r, max(t.wait(&r.attempts, w), end.asked), end.err)
}

// slowFailure is how long an attempt takes that counts twice: it has cost the others a
// request for that time.
const slowFailure = time.Second

// strike notes a failure of an event if the API has settled others since the last one, or since
// this attempt began.
func (t *httpTransport) strike(id uuid.UUID, a *retry.Attempts, w *worker, end *ending) {
	seen := a.Passes
	if a.Failures == 0 {
		seen = w.pass.Passes
	}
	a.Passes = t.breaker.Current().Passes
	if a.Passes == seen || w.closing {
		return
	}
	suspect := a.Strike(time.Since(w.began) >= slowFailure)
	if suspect && end.line == nil {
		end.line = t.tell(id, end.err)
	}
}

const (
	// closePatience is for how long Close goes on while the API settles nothing more. It is
	// for contexts without a deadline.
	closePatience = 5 * time.Minute

	// closeProbes is how many attempts more may fail if the API accepted events before Close,
	// and has settled none since.
	closeProbes = 3
)

// inVain notes an attempt that has failed while the tracker closes: again says that it was not
// the event's first since then. If there is no hope left, events that have failed since then
// get no other attempt, unless the API settles one.
func (t *httpTransport) inVain(src *Source, again bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if again {
		t.vain++
	}
	none := t.settled.IsZero()
	if none && t.vain >= closeProbes || !none && time.Since(t.settled) > closePatience {
		src.delayed.Suspend()
	}
}

// longestWait is how long an event that keeps failing waits at most, in units of the
// longest wait of all others.
const longestWait = 20

func (t *httpTransport) wait(a *retry.Attempts, w *worker) time.Duration {
	own := retry.Backoff{Base: t.backoff.Base, Max: longestWait * t.backoff.Max}
	switch {
	case w.closing:
		return t.backoff.Delay(min(int(a.Strikes), 2))
	case a.Suspect():
		own.Low = 0.5
	case w.pass.Admission != retry.Anything:
		return 0
	}
	return own.Delay(max(int(a.Strikes)-1, min(int(a.Failures), 3)))
}

// tell returns a line about an event that becomes a suspect, at most once a minute.
func (t *httpTransport) tell(id uuid.UUID, err error) (line func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if time.Since(t.told) < reportEvery {
		return nil
	}
	t.told = time.Now()
	return func() {
		t.log.Warn("footfall: an event fails although the API accepts others; it is kept and retried", "id", id, "error", err)
	}
}

// alive notes when the API has settled an event while the tracker closes.
func (t *httpTransport) alive(src *Source) {
	if isClosed(src.Closing()) {
		t.mu.Lock()
		t.settled = time.Now()
		t.mu.Unlock()
	}
}

// giveUp settles what has failed since the tracker closes, if the API has accepted nothing
// since, or nothing more can be sent.
func (t *httpTransport) giveUp(src *Source) {
	for _, e := range src.delayed.GiveUp() {
		src.Settle([]Record{e.Value}, Lost, e.Err)
	}
}

func isClosed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}
