package footfall

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/footfall-dev/footfall/internal/safelog"
)

// reportEvery is the least time between two lines about events not accepted.
const reportEvery = time.Minute

// reporter tells the log what nobody may be listening to: errors that Track
// returned, events dropped, events rejected. It counts on the caller's goroutine
// and writes on its own, the first line at once and then at most one a minute. After
// close the log is silent.
type reporter struct {
	log     *slog.Logger // from safelog.New
	onError func(error)

	late    atomic.Int64  // calls of onError that take long
	writing chan struct{} // full while a line is written; a mutex would stop the clock of synctest
	once    sync.Once     // of misused

	mu      sync.Mutex
	counts  tally
	timer   *time.Timer
	pending bool      // the timer runs
	last    time.Time // of the last line
}

// tally is what happened since the last line.
type tally struct {
	invalid, refused, dropped, rejected uint64
	example                             error
	misuse                              error
	onError                             error // that it failed
}

func newReporter(log *slog.Logger, onError func(error)) *reporter {
	r := &reporter{log: log, onError: onError, writing: make(chan struct{}, 1)}
	r.timer = time.AfterFunc(time.Hour, r.write)
	r.timer.Stop()
	return r
}

func (r *reporter) invalid(err error) { r.count(func(t *tally) { t.invalid++ }, err) }
func (r *reporter) refused(err error) { r.count(func(t *tally) { t.refused++ }, err) }

// misused tells the log, once, of a Config.Transport that does not keep to its contract.
func (r *reporter) misused(err error) {
	r.once.Do(func() { r.count(func(t *tally) { t.misuse = err }, nil) })
}

func (r *reporter) dropped() { r.count(func(t *tally) { t.dropped++ }, ErrQueueFull) }

const (
	// onErrorPatience is how long a sender waits for Config.OnError.
	onErrorPatience = 100 * time.Millisecond

	// maxLate is how many calls of Config.OnError may be in progress, more or less, that
	// no sender waits for.
	maxLate = 64
)

// rejected hands a refusal of the API to Config.OnError, else to the log. While a call of
// OnError takes long, others are begun and not waited for. If too many of them take long,
// the log is told.
func (r *reporter) rejected(rec Record, reason error) {
	err := &RejectedError{ID: rec.ID, Body: append([]byte(nil), rec.Body...), Err: reason}
	late := r.late.Load()
	if r.onError == nil || late >= maxLate {
		r.count(func(t *tally) { t.rejected++ }, err)
		return
	}
	ended := safelog.Start(func() { r.onError(err) })
	if late == 0 {
		timer := time.NewTimer(onErrorPatience)
		defer timer.Stop()
		select {
		case failure := <-ended:
			r.onErrorEnded(failure)
			return
		case <-timer.C:
		}
	}
	r.late.Add(1)
	go func() {
		defer r.late.Add(-1)
		r.onErrorEnded(<-ended)
	}()
}

func (r *reporter) onErrorEnded(failure error) {
	if failure != nil {
		r.count(func(t *tally) { t.onError = failure }, nil)
	}
}

func (r *reporter) count(add func(*tally), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	add(&r.counts)
	r.counts.example = cmp.Or(err, r.counts.example)
	if !r.pending {
		r.pending = true
		r.timer.Reset(max(0, reportEvery-time.Since(r.last)))
	}
}

// write writes one line, if there is something to tell.
func (r *reporter) write() {
	r.writing <- struct{}{}
	defer func() { <-r.writing }()
	r.mu.Lock()
	counts := r.counts
	r.counts, r.pending, r.last = tally{}, false, time.Now()
	r.mu.Unlock()
	if counts.misuse != nil {
		r.log.Error("footfall: Config.Transport is wrong; the counts are corrected", "error", counts.misuse)
		counts.misuse = nil
	}
	if counts.onError != nil {
		r.log.Error("footfall: Config.OnError has failed", "error", counts.onError)
		counts.onError = nil
	}
	if counts == (tally{}) {
		return
	}
	r.log.Warn("footfall: events were not delivered",
		"invalid", counts.invalid, "refused", counts.refused,
		"dropped", counts.dropped, "rejected", counts.rejected, "last_error", counts.example)
}

// close writes what has not been told, after a line that is being written, and
// silences the log. A log that is stuck holds it up for a second, or a tenth of one when
// ctx has ended.
func (r *reporter) close(ctx context.Context) {
	defer safelog.Silence(r.log)
	r.timer.Stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.write()
	}()
	select {
	case <-done:
		return
	case <-time.After(time.Second):
		return
	case <-ctx.Done():
	}
	select {
	case <-done:
	case <-time.After(100 * time.Millisecond):
	}
}
