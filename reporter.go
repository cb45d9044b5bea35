package footfall

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/footfall-dev/footfall/internal/queue"
	"github.com/footfall-dev/footfall/internal/safelog"
)

// reportEvery is the least time between two lines about events not accepted.
const reportEvery = time.Minute

// reporter logs errors that Track returned, events that were dropped, rejected or lost, and redacted
// values, because the application may not check them. It counts on the caller's goroutine and writes on another
// one: the first line at once, later lines at most once a minute. After close it writes
// nothing.
type reporter struct {
	log        *slog.Logger // from safelog.New
	onRejected func(*RejectedError)

	late    atomic.Int64  // calls of onRejected that have exceeded onRejectedPatience
	writing chan struct{} // full while a line is written; a mutex would stop the clock of synctest
	once    sync.Once     // of misused

	mu      sync.Mutex
	counts  tally
	timer   *time.Timer
	pending bool      // the timer runs
	last    time.Time // of the last line

	reported   map[place]time.Time // when a line about redacted values was due last
	redactions []redaction         // lines to write
}

// tally counts events since the last line.
type tally struct {
	invalid, refused, dropped, rejected uint64
	example                             error   // the last one
	event                               excerpt // name of its event, unless example has it
	misuse                              error
	onRejected                          error       // its panic
	account                             *CloseError // of Close, if it has lost events
}

// excerpt is a copy of the beginning of a text. Making one does not allocate, because an application may
// track very many events that a full queue refuses.
type excerpt struct {
	bytes [maxLogged]byte
	n     int
}

func excerptOf(text string) (e excerpt) {
	e.n = copy(e.bytes[:], text)
	return e
}

func (e *excerpt) String() string { return string(e.bytes[:e.n]) }

func newReporter(log *slog.Logger, onRejected func(*RejectedError)) *reporter {
	r := &reporter{log: log, onRejected: onRejected, writing: make(chan struct{}, 1), reported: make(map[place]time.Time)}
	r.timer = time.AfterFunc(time.Hour, r.write)
	r.timer.Stop()
	return r
}

// invalid and refused log the error of Track for an event of the given name, which they do not keep.
func (r *reporter) invalid(name string, err error) {
	r.countEvent(func(t *tally) { t.invalid++; t.event = excerptOf(name) }, err)
}

func (r *reporter) refused(name string, err error) {
	r.countEvent(func(t *tally) { t.refused++; t.event = excerptOf(name) }, err)
}

// misused logs, once, that Config.Transport breaks its contract.
func (r *reporter) misused(err error) {
	r.once.Do(func() { r.countEvent(func(t *tally) { t.misuse = err }, nil) })
}

func (r *reporter) dropped() { r.countEvent(func(t *tally) { t.dropped++ }, queue.ErrDropped) }

// lost notes the account of Close, which close writes.
func (r *reporter) lost(account *CloseError) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts.account = account
}

const (
	// onRejectedPatience is how long a sender waits for Config.OnRejected.
	onRejectedPatience = 100 * time.Millisecond

	// maxLate is about how many calls of Config.OnRejected may be in progress without a sender
	// that waits for them.
	maxLate = 64
)

// rejected passes a refusal of the API to Config.OnRejected, or else to the log. While a call of
// OnRejected takes long, it starts others without waiting for them. If too many calls take long,
// it counts the refusal in a line of the log.
func (r *reporter) rejected(err *RejectedError) {
	late := r.late.Load()
	if r.onRejected == nil || late >= maxLate {
		r.countEvent(func(t *tally) { t.rejected++ }, err)
		return
	}
	ended := safelog.Start(func() { r.onRejected(err) })
	if late == 0 {
		timer := time.NewTimer(onRejectedPatience)
		defer timer.Stop()
		select {
		case failure := <-ended:
			r.onRejectedEnded(failure)
			return
		case <-timer.C:
		}
	}
	r.late.Add(1)
	go func() {
		defer r.late.Add(-1)
		r.onRejectedEnded(<-ended)
	}()
}

func (r *reporter) onRejectedEnded(failure error) {
	if failure != nil {
		r.countEvent(func(t *tally) { t.onRejected = failure }, nil)
	}
}

func (r *reporter) countEvent(add func(*tally), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.counts.example, r.counts.event = err, excerpt{}
	}
	add(&r.counts)
	r.schedule()
}

// schedule starts the timer of the next lines. The caller holds r.mu.
func (r *reporter) schedule() {
	if !r.pending {
		r.pending = true
		r.timer.Reset(max(0, reportEvery-time.Since(r.last)))
	}
}

const (
	// redactedEvery is the least time between two lines about the same place.
	redactedEvery = time.Hour

	// maxRedacted bounds the places that have a line each. The others share one.
	maxRedacted = 100

	// maxLogged bounds a key or a name in a line, in bytes.
	maxLogged = 100
)

// place is where values are redacted.
type place struct {
	kind placeKind
	key  string // of a prop
}

type placeKind uint8

const (
	fromProp placeKind = iota
	fromPage
	fromOthers // of props beyond maxRedacted
)

// redaction is a line about a redacted value.
type redaction struct {
	from  place
	event string
	page  string // as sent, without what was redacted; empty for props
}

// redacted logs, at most once an hour for each place, that the guard redacted a value of an
// event. body is the encoded event if the place is its page. It does not keep what the caller passes.
func (r *reporter) redacted(from place, event string, body []byte) {
	from.key = from.key[:min(len(from.key), maxLogged)]
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.isReported(from, now) {
		return
	}
	kept := place{from.kind, strings.Clone(from.key)}
	if !r.makeRoom(now) {
		if kept = (place{kind: fromOthers}); r.isReported(kept, now) {
			return
		}
	}
	r.reported[kept] = now
	r.redactions = append(r.redactions, redaction{kept, strings.Clone(event[:min(len(event), maxLogged)]), pageOf(body)})
	r.schedule()
}

// pageOf returns the URL of an encoded event without its query, or "".
func pageOf(body []byte) string {
	var sent struct {
		URL string `json:"url"`
	}
	_ = json.Unmarshal(body, &sent) // the encoder made it; it may be nil
	page, _, _ := strings.Cut(sent.URL, "?")
	return page
}

func (r *reporter) isReported(from place, now time.Time) bool {
	last, ok := r.reported[from]
	return ok && now.Sub(last) < redactedEvery
}

// makeRoom reports whether another place may be kept, and another line. It removes places
// whose hour is over.
func (r *reporter) makeRoom(now time.Time) bool {
	if len(r.reported) >= maxRedacted {
		maps.DeleteFunc(r.reported, func(_ place, at time.Time) bool { return now.Sub(at) >= redactedEvery })
	}
	return len(r.reported) < maxRedacted && len(r.redactions) < maxRedacted
}

// write writes the line.
func (d redaction) write(log *slog.Logger) {
	switch d.from.kind {
	case fromPage:
		log.Info("footfall: a part of a page's URL was redacted; Config.AllowPIIKeys exempts the name of a wildcard of the route, and footfall doctor -url shows what becomes of a URL", "page", d.page, "event", d.event)
	case fromOthers:
		log.Warn("footfall: values of many more props were redacted; Config.AllowPIIKeys exempts keys", "event", d.event)
	default:
		log.Warn("footfall: a value was redacted; add the key to Config.AllowPIIKeys if it is no personal data", "key", d.from.key, "event", d.event)
	}
}

// write writes the lines that are due.
func (r *reporter) write() {
	r.writing <- struct{}{}
	defer func() { <-r.writing }()
	r.mu.Lock()
	counts, redactions := r.counts, r.redactions
	r.counts, r.redactions, r.pending, r.last = tally{}, nil, false, time.Now()
	r.mu.Unlock()
	for _, d := range redactions {
		d.write(r.log)
	}
	counts.write(r.log)
}

// write writes a line for each kind of problem.
func (t *tally) write(log *slog.Logger) {
	if t.misuse != nil {
		log.Error("footfall: Config.Transport breaks its contract; the counts are corrected", "error", t.misuse)
	}
	if t.onRejected != nil {
		log.Error("footfall: Config.OnRejected has failed", "error", t.onRejected)
	}
	if t.invalid+t.refused+t.dropped+t.rejected > 0 {
		log.Warn("footfall: events were refused, rejected or dropped",
			"invalid", t.invalid, "refused", t.refused,
			"dropped", t.dropped, "rejected", t.rejected, "last_error", t.lastError())
	}
	if a := t.account; a != nil {
		log.Error("footfall: Close has lost events", "lost", a.Lost,
			"delivered", a.Delivered, "rejected", a.Rejected, "stored", a.Stored, "error", a.Err)
	}
}

// lastError returns the last error with the name of its event. A [FieldError] does not have the name.
func (t *tally) lastError() error {
	if t.event.n == 0 {
		return t.example
	}
	return &eventError{"event " + shown(t.event.String()), t.example}
}

// close writes the last lines, after a line that is in progress, and silences the log. If the
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
