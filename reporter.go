package footfall

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
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

// rejected hands a refusal of the API to Config.OnError, else to the log.
func (r *reporter) rejected(rec Record, reason error) {
	err := &RejectedError{ID: rec.ID, Body: append([]byte(nil), rec.Body...), Err: reason}
	if r.onError == nil {
		r.count(func(t *tally) { t.rejected++ }, err)
		return
	}
	if failure := safelog.Contain(func() { r.onError(err) }); failure != nil {
		r.log.Error("footfall: Config.OnError has failed", "error", failure)
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
