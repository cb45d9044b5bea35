package footfall

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/footfall-dev/footfall/internal/envelope"
	"github.com/footfall-dev/footfall/internal/pattern"
	"github.com/footfall-dev/footfall/internal/pii"
	"github.com/footfall-dev/footfall/internal/queue"
	"github.com/footfall-dev/footfall/internal/safelog"
	"github.com/footfall-dev/footfall/internal/watch"
)

// Tracker accepts events and delivers them in the background. Its methods may be called from
// several goroutines at once. A nil or disabled Tracker does nothing.
type Tracker struct {
	encoder   encoder
	pager     *pager
	source    *Source
	queue     *queue.Queue // of source
	reporter  *reporter
	skip      func(*http.Request) bool
	noContext bool
	hook      *hook          // nil without Config.BeforeSend
	scratches sync.Pool      // of *scratch
	flusher   Flusher        // the transport, if it is one
	outages   OutageReporter // the transport, if it is one
	watch     watch.Watcher  // the transport, if it is one

	shutdownTimeout time.Duration // of Run's server
	closeTimeout    time.Duration // of Run's Close

	check func(context.Context) error // hides the key from fmt

	stop    context.CancelFunc // ends the transport's context
	done    chan struct{}      // closed when the transport has returned
	closing atomic.Bool        // Close was called
	closed  chan struct{}      // closed when the first call to Close returns
	result  error              // of that call; set before closed is closed

	_ cacheLinePad // Track reads the fields above, which rarely change

	invalid   atomic.Uint64 // of Stats
	sanitized atomic.Uint64 // of Stats
	filtered  atomic.Uint64 // of Stats
}

// cacheLinePad separates fields that different cores write into different cache lines, which
// are 64 or 128 bytes.
type cacheLinePad [128]byte

// scratch is the pooled working memory of a call to Track.
type scratch struct {
	buf  []byte // to encode into
	hint queue.Hint
}

// New checks cfg and starts a tracker, which runs until [Tracker.Close]. It does no I/O, unless
// Config.Transport is a [Memory]. The error joins a [*FieldError] for every problem of cfg.
func New(cfg Config) (*Tracker, error) {
	if cfg.Disabled {
		return newDisabled(cfg.withDefaults()), nil
	}
	cfg = cfg.withDefaults()
	if err := cfg.check(); err != nil {
		return nil, err
	}
	cfg.Logger = safelog.New(cfg.Logger)
	t := newTracker(&cfg)
	transport := cfg.Transport
	if transport == nil {
		transport = newHTTPTransport(&cfg, newNetPoster(&cfg), t.reporter)
	}
	t.flusher, _ = transport.(Flusher)
	t.outages, _ = transport.(OutageReporter)
	t.watch, _ = transport.(watch.Watcher)
	api := ClientConfig{BaseURL: cfg.BaseURL, APIKey: cfg.APIKey, Timeout: cfg.AttemptTimeout, AllowHTTP: cfg.AllowHTTP, HTTPClient: cfg.HTTPClient}
	siteID := cfg.SiteID
	t.check = func(ctx context.Context) error { return checkAPI(ctx, api, siteID) }
	ctx, stop := context.WithCancel(context.Background())
	t.stop = stop
	go t.run(ctx, transport)
	return t, nil
}

// newDisabled returns a tracker that does nothing. It logs a line if the application did not
// decide that itself.
func newDisabled(cfg Config) *Tracker {
	if cfg.unset {
		safelog.New(cfg.Logger).Warn("footfall: the tracker is disabled, because no environment variable FOOTFALL_* is set: no events are sent")
	}
	return &Tracker{shutdownTimeout: cfg.ShutdownTimeout}
}

func newTracker(cfg *Config) *Tracker {
	g := pii.New(cfg.AllowPII, cfg.AllowPIIKeys)
	t := &Tracker{
		encoder:   newEncoder(cfg.SiteID, cfg.DefaultURL, cfg.MaxEventBytes, cfg.Limits, g).with(cfg.LandingProp, cfg.Props),
		pager:     newPager(cfg),
		skip:      cfg.Skip,
		noContext: cfg.NoContextValue,
		hook:      newHook(cfg),

		shutdownTimeout: cfg.ShutdownTimeout,
		closeTimeout:    cfg.CloseTimeout,

		reporter: newReporter(cfg.Logger, cfg.OnRejected),
		done:     make(chan struct{}),
		closed:   make(chan struct{}),
	}
	t.source = newMemorySource(cfg, t.reporter.dropped, t.reporter.misused)
	t.queue = t.source.queue
	t.scratches.New = func() any { return &scratch{buf: make([]byte, 0, 1024)} }
	return t
}

func newPager(cfg *Config) *pager {
	keys, hosts := slices.Clone(cfg.QueryKeys), slices.Clone(cfg.Hosts)
	limit := min(maxPageURL, cfg.Limits.URL)
	return &pager{
		origin:    strings.TrimRight(cfg.PublicURL, "/"),
		keys:      keys,
		hosts:     hosts,
		source:    cfg.Page,
		header:    http.CanonicalHeaderKey(cfg.PageHeader),
		proxies:   slices.Clone(cfg.TrustedProxies),
		limit:     limit,
		elsewhere: &pager{keys: keys, hosts: hosts, limit: limit},
	}
}

// run calls Deliver. A panic of the application's Transport stops delivery, not the
// application.
func (t *Tracker) run(ctx context.Context, transport Transport) {
	defer close(t.done)
	defer func() {
		if v := recover(); v != nil {
			t.reporter.log.Error("footfall: panic in Config.Transport: delivery has stopped", "panic", v)
		}
	}()
	transport.Deliver(ctx, t.source)
}

// Track accepts an event for delivery. It checks and encodes the event on the caller's
// goroutine, never blocks and does no I/O. It does not keep props. It takes the page
// (middleware, [WithURL]) and the site ([WithSite], else Config.SiteID) from ctx, and ignores
// cancellation of ctx.
//
// The error is a [*FieldError] or [ErrNoURL] if the event is bad, and [ErrQueueFull] or
// [ErrClosed] if it was not accepted. Callers may ignore the error: [Stats] counts it and,
// until Close, the tracker logs such errors at most once a minute.
func (t *Tracker) Track(ctx context.Context, name string, props ...Prop) error {
	return t.TrackEvent(ctx, Event{Name: name, Props: props})
}

// TrackEvent is [Tracker.Track] for an event that sets its own site or URL.
func (t *Tracker) TrackEvent(ctx context.Context, e Event) error {
	if t.inactive() {
		return nil
	}
	d := e.draft(ctx)
	return t.accept(&d)
}

// TrackRequest is [Tracker.Track] on the page of r, inside a handler. It does not need the
// middleware. A page in the context of r, such as [WithURL] sets, takes precedence. A nil r has
// no page.
func (t *Tracker) TrackRequest(r *http.Request, name string, props ...Prop) error {
	if t.inactive() {
		return nil
	}
	e := Event{Name: name, Props: props}
	if r == nil {
		d := e.draft(context.Background())
		return t.accept(&d)
	}
	d := e.draft(r.Context())
	page := t.requestPage(d.page, r)
	d.page = &page
	return t.accept(&d)
}

// requestPage returns the page of the context of r, or else the page of r. It adds the route of
// r, unless that route matches only a prefix of the path, because a router may be mounted below
// another one.
func (t *Tracker) requestPage(known *Page, r *http.Request) Page {
	if known == nil || !known.usable() {
		return t.pager.page(r).WithRoute(r.Pattern)
	}
	if known.exact() != "" || known.route.Pattern != "" || r.URL.Path != known.path || pattern.IsSubtree(r.Pattern) {
		return *known
	}
	return known.WithRoute(r.Pattern)
}

// report logs the errors of rules, a line each.
func (t *Tracker) report(err error) {
	if t.inactive() || err == nil {
		return
	}
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range several.Unwrap() {
			t.report(one)
		}
		return
	}
	t.reporter.log.Error("footfall: a rule may have no effect", "error", err)
}

// inactive reports whether t does nothing, such as a disabled tracker, which has no queue.
func (t *Tracker) inactive() bool { return t == nil || t.queue == nil }

// maxBuffer is the largest buffer that is reused.
const maxBuffer = 8 << 10

// accept encodes d and queues it.
func (t *Tracker) accept(d *draft) error {
	_, err := t.acceptWith(d, nil)
	return err
}

// acceptWith encodes d and queues it, unless Config.BeforeSend drops it. w, if it is not nil, waits until the event is
// settled.
func (t *Tracker) acceptWith(d *draft, w *queue.Waiter) (queued bool, err error) {
	s := t.scratches.Get().(*scratch)
	queued, err = t.enqueue(s, d, w)
	t.scratches.Put(s)
	return queued, err
}

func (t *Tracker) enqueue(s *scratch, d *draft, w *queue.Waiter) (queued bool, err error) {
	body, redacted, err := t.encode(s, d)
	if err != nil || body == nil {
		return false, err
	}
	if w != nil {
		err = t.queue.PutWaiter(&s.hint, body, redacted, w)
	} else {
		err = t.queue.Put(&s.hint, body, redacted)
	}
	if err != nil {
		t.reporter.refused(d.name, err)
	}
	return err == nil, err
}

// encode encodes d into the memory of s. It counts and reports what is wrong with d, and what was replaced. body is nil if
// Config.BeforeSend drops the event.
func (t *Tracker) encode(s *scratch, d *draft) (body []byte, redacted int, err error) {
	if d.touch != nil {
		t.encoder.addLanding(d)
	}
	if t.hook != nil {
		if send, err := t.filter(d); err != nil {
			return nil, 0, t.refuse(d, err)
		} else if !send {
			return nil, 0, nil
		}
	}
	body, redacted, err = t.encoder.append(s.buf[:0], d)
	if cap(body) <= maxBuffer {
		s.buf = body
	}
	if d.sanitized {
		t.sanitized.Add(1)
	}
	if err != nil {
		return nil, 0, t.refuse(d, err)
	}
	if redacted > 0 {
		t.reportRedacted(d, redacted, body)
	}
	return body, redacted, nil
}

// refuse counts and reports an event that is bad, and returns the reason.
func (t *Tracker) refuse(d *draft, err error) error {
	t.invalid.Add(1)
	t.reporter.invalid(d.name, err)
	return err
}

// reportRedacted logs which props of d the guard redacted, or that it redacted a part of the page.
// packed is the encoded event.
func (t *Tracker) reportRedacted(d *draft, redacted int, packed []byte) {
	t.encoder.eachRedacted(d, func(key string) {
		t.reporter.redacted(place{fromProp, key}, d.name, nil)
		redacted--
	})
	if redacted > 0 {
		_, body := envelope.Split(packed)
		t.reporter.redacted(place{kind: fromPage}, d.name, body)
	}
}

// TrackDurable is [Tracker.TrackEvent] for events that must not be lost. It returns nil once the
// event is safe, even if the process is killed right after. With a Transport that stores events,
// such as module spool, the event is then on disk, after some milliseconds. With the default
// transport, the API has accepted it.
//
// TrackDurable blocks as long as ctx allows. If ctx ends first, the error wraps the error of
// ctx; the event stays queued and is most likely delivered later. Other errors are those that
// Track returns, or say that the API refused the event or that the event was given up.
func (t *Tracker) TrackDurable(ctx context.Context, e Event) error {
	if t.inactive() {
		return nil
	}
	if ctx == nil {
		ctx = context.Background() // as TrackEvent does
	}
	w, began := queue.NewWaiter(), time.Now()
	d := e.draft(ctx)
	if queued, err := t.acceptWith(&d, w); !queued {
		return err
	}
	select {
	case <-w.Done():
	case <-ctx.Done():
		failure := t.queue.Forget(w)
		reason := because(ctx.Err(), cmp.Or(failure, t.source.Failure()), time.Since(began))
		return &eventError{"the event is queued, but not delivered or stored yet", reason}
	case <-t.done: // the transport has stopped; if it settled the event, it did so before
		t.queue.GiveUp(w, t.source.Failure())
	}
	return durable(w)
}

// durable returns the error for the outcome of the event of w, which is settled.
func durable(w *queue.Waiter) error {
	o, err := w.Result()
	switch o {
	case queue.Delivered, queue.Stored:
		return nil
	case queue.Rejected:
		return &eventError{"the event was refused", err}
	}
	return &eventError{"the event was lost", err}
}

// Flush returns when every event accepted before the call is settled: delivered, refused by the
// API for good, or given up and counted in Stats.Dropped. It sends waiting events at once, and
// does not shorten a backoff. With a Transport that stores events, Flush also waits until
// stored events are delivered. The error is a [*FlushError]. It wraps the error of ctx, and
// says how many events are not settled, and why the last attempt failed or that none has ended. Those events stay
// queued. A nil ctx never ends.
func (t *Tracker) Flush(ctx context.Context) error {
	if t.inactive() {
		return nil
	}
	ctx, began := orBackground(ctx), time.Now()
	if err := t.queue.Flush(ctx, t.done); err != nil {
		return &FlushError{Unsettled: t.queue.Counters().Queued, Err: err, Cause: t.source.Failure(), Waited: time.Since(began)}
	}
	if t.flusher == nil {
		return nil
	}
	return t.flusher.Flush(ctx)
}

// Outage returns the current outage, for logs, metrics and health checks: when attempts began to fail,
// and why the latest one did. It returns false if there is none, or if Config.Transport does not
// implement [OutageReporter]. An outage of the API is no reason to restart the application, because
// events wait, or to send it no requests. With a stream, it is an outage of NATS.
func (t *Tracker) Outage() (o Outage, out bool) {
	if t.inactive() || t.outages == nil {
		return o, false
	}
	return t.outages.Outage()
}

// Stats returns the counts so far.
func (t *Tracker) Stats() Stats {
	if t.inactive() {
		return Stats{}
	}
	s := newStats(t.queue.Counters())
	s.Invalid, s.Sanitized, s.Filtered = t.invalid.Load(), t.sanitized.Load(), t.filtered.Load()
	return s
}

// Close refuses new events, sends all others at once and stops the tracker. If the API has ever
// accepted an event, Close sends failed events again until ctx ends, or until the API has settled
// none for 5 minutes. If it never has, every event gets one attempt.
//
// Close returns when all events are settled or ctx has ended, whichever is first. The error is
// nil if no event was lost, or else a [*CloseError], which is also a line of Config.Logger. Events that
// the API rejected are not lost in this sense: Stats.Rejected counts them. Call Close after the server has shut down,
// with a context that has a deadline. A transport that does not stop when ctx has ended delays
// Close by a tenth of a second, and a log handler that blocks by another tenth. Once Close has
// returned, the tracker logs nothing, except a line that was in progress and lines of a
// transport that has not stopped. A nil ctx never ends.
//
// Later calls return the result of the first one, or an error that wraps the error of their
// ctx if it ends before.
func (t *Tracker) Close(ctx context.Context) error {
	if t.inactive() {
		return nil
	}
	ctx = orBackground(ctx)
	if t.closing.CompareAndSwap(false, true) {
		t.result = t.shutDown(ctx)
		close(t.closed)
		return t.result
	}
	select {
	case <-t.closed:
		return t.result
	case <-ctx.Done():
		return fmt.Errorf("footfall: close: another call to Close is in progress: %w", ctx.Err())
	}
}

func (t *Tracker) shutDown(ctx context.Context) error {
	began, before := time.Now(), t.queue.Close()
	t.source.Close()
	var cause error
	select {
	case <-t.done:
	case <-ctx.Done():
		cause = ctx.Err()
	}
	ended := time.Now()
	t.stop()
	t.lastMoment()
	after, lastErr := t.queue.End(t.source.Failure())
	t.source.held.Stop()
	var err error
	if after.Dropped > before.Dropped {
		account := &CloseError{
			Delivered: after.Delivered - before.Delivered,
			Rejected:  after.Rejected - before.Rejected,
			Stored:    after.Stored,
			Lost:      after.Dropped - before.Dropped,
			Err:       because(cause, lastErr, ended.Sub(began)),
		}
		t.reporter.lost(account)
		err = account
	}
	t.reporter.close(ctx)
	return err
}

// lastMoment gives a transport that was stopped time to settle its records and to release its
// resources, such as files.
func (t *Tracker) lastMoment() {
	select {
	case <-t.done:
	case <-time.After(100 * time.Millisecond):
	}
}

// orBackground returns ctx, or context.Background() if ctx is nil.
func orBackground(ctx context.Context) context.Context {
	if ctx == nil {
		return context.Background()
	}
	return ctx
}
