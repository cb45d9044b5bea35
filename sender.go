package footfall

import (
	"bytes"
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

// eventsPerSender is the largest number of waiting events for which one sender is started.
const eventsPerSender = 8

// httpTransport is the default Transport. It posts events to the API, one per request, on as
// many senders as the backlog needs.
type httpTransport struct {
	poster   Poster
	key      func() string // see wire.Cleaner
	breaker  *retry.Breaker
	backoff  retry.Backoff // of an event that failed
	longest  time.Duration // of Retry-After
	log      *slog.Logger
	most     int // senders
	interval time.Duration
	rejected func(*RejectedError)
	accepted Outcome       // of an event that the API accepted: Delivered, or Stored
	patience time.Duration // of Close while no event is settled
	workers  sync.Pool     // of *worker

	mu       sync.Mutex // held while a sender takes an event or ends
	slots    *semaphore.Weighted
	running  int
	looks    uint64        // calls of wanted
	usual    time.Duration // time that an attempt takes
	moving   int           // running senders that have ended an attempt since the last look
	suspects int           // in flight
	nextTurn time.Time     // when a suspect may be sent in place of another event
	told     time.Time     // when a suspect was logged
	closing  bool          // a sender has noticed that the tracker closes
	settled  time.Time     // when the API last settled an event after that; a store is taken to have settled one then
	vain     int           // attempts that failed after that, of events that had failed after that
}

// worker is the state of a sender. Workers are pooled, so that starting a sender does not
// allocate.
type worker struct {
	one      [1]Record
	began    time.Time
	pass     retry.Pass
	closing  bool   // the attempt began when the tracker was closing
	look     uint64 // when it was last counted as moving
	attempts int
	took     time.Duration // time of the last attempt, if the API settled the event
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
		accepted: Delivered,
		patience: closePatience,
		workers:  sync.Pool{New: func() any { return new(worker) }},
	}
}

// Deliver implements Transport. It starts senders whenever events are due. A sender ends when
// it finds no event that it may send.
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

// leastLook is the shortest time after which Deliver looks again for due retries that no sender
// has taken.
const leastLook = 100 * time.Millisecond

// wanted returns how many senders to start for the given number of waiting events. Running
// senders that have ended an attempt lately will take some of the events. Others are not
// counted, because they may wait for an answer that never arrives. While the tracker closes,
// wanted returns one sender for each event.
func (t *httpTransport) wanted(waiting int, src *Source) int {
	t.mu.Lock()
	moving, each := t.moving, t.share()
	t.moving = 0
	t.looks++
	t.mu.Unlock()
	switch {
	case src.isClosing():
		return waiting
	case !t.breaker.Closed():
		return t.breaker.Probes()
	}
	return (waiting+each-1)/each - moving
}

// share returns about how many events a sender delivers within the flush interval. It is called
// with the lock held.
func (t *httpTransport) share() int {
	return int(min(eventsPerSender, max(1, t.interval/max(1, t.usual))))
}

// learn records how long the last attempt of w took. It is called with the lock held.
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

// start counts a new sender and reports whether one may start.
func (t *httpTransport) start() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.slots.TryAcquire(1) {
		return false
	}
	t.running++
	return true
}

// endSender stops counting a sender. It is called with the lock held.
func (t *httpTransport) endSender(src *Source, w *worker) {
	if t.counts(w) {
		t.moving--
	}
	t.running--
	t.slots.Release(1)
	if src.isClosing() {
		src.signal() // Wait may return now
	}
}

// send delivers events one after another until there is none that may be sent.
func (t *httpTransport) send(ctx context.Context, src *Source) {
	w := t.workers.Get().(*worker)
	w.attempts, w.look, w.took = 0, 0, 0
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
	t.learn(w)
	if ctx.Err() == nil && t.pick(src, w) {
		t.beginAttempt(w)
		return true
	}
	t.endSender(src, w)
	return false
}

// beginAttempt counts an attempt that begins.
func (t *httpTransport) beginAttempt(w *worker) {
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

// pick takes an event that the breaker allows. While the tracker closes, every event gets an
// attempt even if the breaker is open.
func (t *httpTransport) pick(src *Source, w *worker) bool {
	w.began = time.Now()
	w.closing = src.isClosing()
	if w.closing && !t.closing {
		t.beginClose(src)
	}
	if w.closing && src.untried(w.one[:]) {
		w.pass = t.breaker.Current()
		return true
	}
	w.pass = t.breaker.Admit()
	switch w.pass.Admission {
	case retry.Anything:
		return src.takeNext(w.one[:], t.suspects < max(1, t.most/10), !w.began.Before(t.nextTurn))
	case retry.Probe:
		return t.probed(w, src.probe(w.one[:], w.pass.RetryFirst))
	case retry.NewsProbe:
		return t.probed(w, src.news(w.one[:], w.pass.Since))
	}
	return false
}

// beginClose determines whether events that fail from now on are retried. A store that is away
// may be back soon, such as a cluster that elects a leader.
func (t *httpTransport) beginClose(src *Source) {
	t.closing = true
	switch {
	case t.accepted == Stored:
		t.settled = time.Now()
		src.accept()
	case t.breaker.Accepts():
		src.accept()
	}
}

// probed reports an unused probe to the breaker if no event was found for it.
func (t *httpTransport) probed(w *worker, found bool) bool {
	if !found {
		t.breaker.Unused(w.pass)
	}
	return found
}

// deliver makes one attempt, and then settles the event or gives it back, even if the attempt
// ends the goroutine. It writes to the log last, because the log may be slow.
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

// suspectEnded notes the end of a suspect's attempt. While other events wait, suspects get at
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

// ending is the result of an attempt.
type ending struct {
	verdict wire.Verdict
	cut     bool // the context ended, which is no failure of the API
	err     error
	asked   time.Duration // from Retry-After
	line    func()        // writes to the log; nil if there is nothing to say
}

// errEnded is the error of an attempt that ended its goroutine.
var errEnded = fmt.Errorf("footfall: the Poster or Config.HTTPClient ended its goroutine: %w", safelog.ErrGoexit)

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
		t.rejected(&RejectedError{ID: r.ID, Body: bytes.Clone(r.Body), Err: end.err})
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

// failureClass returns the class of a failed answer for the circuit breaker.
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
		src.Settle(w.one[:], t.accepted, nil)
	case end.verdict == wire.Refused:
		t.alive(src)
		src.Settle(w.one[:], Rejected, end.err)
	default:
		t.giveBack(src, w, end)
	}
}

// giveBack returns an event that failed to the Source. An event that fails as a probe waits for
// the API like all others. An event that fails while the API settles others waits on its own,
// longer each time.
func (t *httpTransport) giveBack(src *Source, w *worker, end *ending) {
	r := w.one[0]
	t.strike(r.ID, &r.attempts, w, end)
	if w.closing {
		t.inVain(src, r.attempts.Again)
	}
	src.Retry(r, max(t.wait(&r.attempts, w), end.asked), end.err)
}

// slowFailure is the time after which a failed attempt counts twice, because it occupied a
// sender for that time.
const slowFailure = time.Second

// strike counts a failure of an event if the API has settled others since the event's last
// failure, or since this attempt began.
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
	// closePatience is how long Close continues while the API settles no event. It is for
	// contexts without a deadline.
	closePatience = 5 * time.Minute

	// storePatience is how long Close continues while a store keeps no event. Elections of a
	// leader take less.
	storePatience = 30 * time.Second

	// closeProbes is how many retries may fail if the API accepted events before Close and has
	// settled none since.
	closeProbes = 3
)

// inVain notes an attempt that failed while the tracker closes. again is true if the event was
// tried before, since the tracker began to close. If the API no longer settles events, failed
// events get no further attempt unless it settles one.
func (t *httpTransport) inVain(src *Source, again bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if again {
		t.vain++
	}
	none := t.settled.IsZero()
	if none && t.vain >= closeProbes || !none && time.Since(t.settled) > t.patience {
		src.delayed.Suspend()
	}
}

// longestWait is the longest wait of an event that keeps failing, in units of the longest wait
// of other events.
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

// tell returns a function that logs an event that becomes a suspect, at most once a minute.
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

// alive records the time at which the API settled an event while the tracker closes.
func (t *httpTransport) alive(src *Source) {
	if src.isClosing() {
		t.mu.Lock()
		t.settled = time.Now()
		t.mu.Unlock()
	}
}

// giveUp settles as Lost the events that failed while the tracker closed and were not retried.
func (t *httpTransport) giveUp(src *Source) {
	for _, e := range src.delayed.GiveUp() {
		src.Settle([]Record{*e.Value}, Lost, e.Err)
	}
}
