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

// reporter logs errors that Track returned, and events that were dropped or rejected, because
// the application may not check them. It counts on the caller's goroutine and writes on another
// one: the first line at once, later lines at most once a minute. After close it writes
// nothing.
type reporter struct {
	log     *slog.Logger // from safelog.New
	onError func(error)

	late    atomic.Int64  // calls of onError that have exceeded onErrorPatience
	writing chan struct{} // full while a line is written; a mutex would stop the clock of synctest
	once    sync.Once     // of misused

	mu      sync.Mutex
	counts  tally
	timer   *time.Timer
	pending bool      // the timer runs
	last    time.Time // of the last line
}

// tally counts events since the last line.
type tally struct {
	invalid, refused, dropped, rejected uint64
	example                             error
	misuse                              error
	onError                             error // its panic
}

func newReporter(log *slog.Logger, onError func(error)) *reporter {
	r := &reporter{log: log, onError: onError, writing: make(chan struct{}, 1)}
	r.timer = time.AfterFunc(time.Hour, r.write)
	r.timer.Stop()
	return r
}

func (r *reporter) invalid(err error) { r.countEvent(func(t *tally) { t.invalid++ }, err) }
func (r *reporter) refused(err error) { r.countEvent(func(t *tally) { t.refused++ }, err) }

// misused logs, once, that Config.Transport breaks its contract.
func (r *reporter) misused(err error) {
	r.once.Do(func() { r.countEvent(func(t *tally) { t.misuse = err }, nil) })
}

func (r *reporter) dropped() { r.countEvent(func(t *tally) { t.dropped++ }, ErrQueueFull) }

const (
	// onErrorPatience is how long a sender waits for Config.OnError.
	onErrorPatience = 100 * time.Millisecond

	// maxLate is about how many calls of Config.OnError may be in progress without a sender
	// that waits for them.
	maxLate = 64
)

// rejected passes a refusal of the API to Config.OnError, or else to the log. While a call of
// OnError takes long, it starts others without waiting for them. If too many calls take long,
// it counts the refusal in a line of the log.
func (r *reporter) rejected(err *RejectedError) {
	late := r.late.Load()
	if r.onError == nil || late >= maxLate {
		r.countEvent(func(t *tally) { t.rejected++ }, err)
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
		r.countEvent(func(t *tally) { t.onError = failure }, nil)
	}
}

func (r *reporter) countEvent(add func(*tally), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	add(&r.counts)
	r.counts.example = cmp.Or(err, r.counts.example)
	if !r.pending {
		r.pending = true
		r.timer.Reset(max(0, reportEvery-time.Since(r.last)))
	}
}

// write writes a line if the tally is not empty.
func (r *reporter) write() {
	r.writing <- struct{}{}
	defer func() { <-r.writing }()
	r.mu.Lock()
	counts := r.counts
	r.counts, r.pending, r.last = tally{}, false, time.Now()
	r.mu.Unlock()
	if counts.misuse != nil {
		r.log.Error("footfall: Config.Transport breaks its contract; the counts are corrected", "error", counts.misuse)
		counts.misuse = nil
	}
	if counts.onError != nil {
		r.log.Error("footfall: Config.OnError has failed", "error", counts.onError)
		counts.onError = nil
	}
	if counts == (tally{}) {
		return
	}
	r.log.Warn("footfall: events were refused or lost",
		"invalid", counts.invalid, "refused", counts.refused,
		"dropped", counts.dropped, "rejected", counts.rejected, "last_error", counts.example)
}

// close writes the last line, after a line that is in progress, and silences the log. If the
// handler blocks, close waits a second, or a tenth of a second after ctx has ended.
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
