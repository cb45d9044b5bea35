package simulation

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"

	"github.com/footfall-dev/footfall"
)

// run executes a script, in a bubble.
type run struct {
	script
	*api
	options *Options
	dir     string
	client  *http.Client // for the wire; nil without a wire
	tracker *footfall.Tracker
	idle    int // goroutines of an idle library

	callers sync.WaitGroup
	readers sync.WaitGroup // of Stats
	over    chan struct{}  // tells them to end

	rejections atomic.Uint64 // calls of OnRejected
	invalid    atomic.Uint64 // events that Track refused as invalid
	refused    atomic.Uint64 // ErrQueueFull and ErrClosed
	closed     atomic.Bool   // Close was called
	closeBegan time.Duration
	done       chan struct{} // closed when Close has returned
	result     error         // of Close
	dropped    uint64        // dropped events when Close returned
}

func newRun(s script, o *Options, dir string) *run {
	wire := o.Wire
	for i := range s.steps {
		if o := &s.steps[i].outage; wire && o.status == http.StatusNotFound {
			o.status = http.StatusFound // the API does not see each attempt, so it cannot know which 404 is the second
		}
	}
	r := &run{script: s, options: o, dir: dir, over: make(chan struct{}), done: make(chan struct{})}
	r.api = &api{trace: &trace{began: time.Now()}, script: &r.script, settled: -1, accepted: -1, conns: make(map[*pipe]bool)}
	for i := range s.limits {
		r.buckets = append(r.buckets, bucket{limit: &s.limits[i], tokens: s.limits[i].burst})
	}
	r.note("MaxInFlight %d, BatchSize %d, FlushInterval %v, queue %d events and %d bytes, DropOldest %t, AttemptTimeout %v, Backoff %v to %v, Probe %v to %v, MaxRetryAfter %v, latency %v, %d names, %d sites, failures in %s, goes wrong: %v",
		s.config.MaxInFlight, s.config.BatchSize, s.config.FlushInterval, s.config.MaxQueueEvents, s.config.MaxQueueBytes, s.config.DropOldest,
		s.config.AttemptTimeout, s.config.BackoffMin, s.config.BackoffMax, s.config.ProbeMin, s.config.ProbeMax, s.config.MaxRetryAfter, s.latency, s.names, s.sites, [...]string{"all kinds", "one kind", "one site", "all kinds but one"}[s.apart], s.kinds)
	return r
}

// execute runs the script and all checks.
func (r *run) execute() {
	if !r.open() {
		return
	}
	r.readers.Go(r.readStats)
	r.play()
	if !r.closeAtOnce {
		r.recover()
	}
	r.checkLiveness(r.now())
	r.checkLimits()
	r.shut()
	if r.options.Store {
		r.restart()
	}
	r.checkEnd()
}

// panicked records a panic. The package synctest panics on a deadlock.
func panicked(r *run, v any) *run {
	r.fault("panic", none, "%v", v)
	return r
}

// open starts the tracker.
func (r *run) open() bool {
	env := Env{Config: r.config, Dial: r.dial, Dir: r.dir}
	env.Config.BaseURL, env.Config.APIKey = "http://127.0.0.1:8080", "sk_simulation"
	env.Config.DefaultURL = "https://shop.example.com/"
	env.Config.Logger = slog.New(panics{slog.DiscardHandler, r.api})
	env.Config.OnRejected = r.onRejected
	env.Config.HTTPClient = &http.Client{Transport: roundTripper{r.api}}
	if r.options.Wire {
		r.client = &http.Client{Transport: &http.Transport{DialContext: r.dial, MaxIdleConnsPerHost: r.config.MaxInFlight, IdleConnTimeout: 90 * time.Second}}
		env.Config.HTTPClient = r.client
	}
	tracker, err := r.options.Open(env)
	if err != nil {
		r.fault("open", none, "%v", err)
		return false
	}
	r.tracker = tracker
	synctest.Wait()
	r.idle = goroutines()
	return true
}

// play executes the steps.
func (r *run) play() {
	for i := range r.steps {
		s := &r.steps[i]
		time.Sleep(s.at - r.now())
		r.note("%v", s)
		r.do(s)
		synctest.Wait()
		r.checkCounts()
		if i%10 == 9 {
			r.checkGoroutines()
		}
	}
}

func (r *run) do(s *step) {
	switch s.do {
	case track:
		r.callers.Go(func() { r.checkReading(r.tracker.Stats(), r.tracker.Stats()) })
		for c := range s.callers {
			r.callers.Go(func() {
				for i := c; i < len(s.events); i += s.callers {
					r.track(s.events[i])
					time.Sleep(s.gap)
				}
			})
		}
	case durable:
		for _, e := range s.events {
			r.callers.Go(func() { r.trackDurable(e, s.deadline) })
		}
	case flush:
		r.callers.Go(func() { r.flush(s.deadline) })
	case invalid:
		r.trackInvalid()
	case fail:
		r.beginOutage(s.outage)
	}
}

// recover lets the API work until everything that it would settle is settled, or time runs
// out.
func (r *run) recover() {
	r.heal()
	r.note("the API works from now on")
	r.callers.Wait()
	const looks = 200
	began, patience := r.now(), r.patience()
	for range looks {
		if r.allSettled() {
			break
		}
		time.Sleep(patience / looks)
	}
	synctest.Wait()
	r.checkCounts()
	r.checkDelivered(r.now() - began)
	r.checkIdle()
}

func (r *run) readStats() {
	random := rand.New(rand.NewPCG(r.seed, 0x57a75))
	var before footfall.Stats
	for {
		now := r.tracker.Stats()
		r.checkReading(before, now)
		before = now
		pause := time.Duration(random.ExpFloat64() * float64(20*time.Second))
		if !wait(pause+time.Microsecond, r.over) {
			return
		}
	}
}

// footfall returns the footfall.Event of e.
func (r *run) footfall(e event) footfall.Event {
	props := []footfall.Prop{footfall.P("n", e.n), footfall.P("fate", e.fate.String())}
	if e.pad > 0 {
		props = append(props, footfall.P("pad", strings.Repeat("x", e.pad)))
	}
	return footfall.Event{SiteID: fmt.Sprint("site_", e.kind%r.sites), Name: fmt.Sprint("simulated_", e.kind/r.sites), Props: props, ID: callersID(e.n)}
}

// callersID returns the Event.ID of an event, or "": a quarter of the events has one, two of them the same.
func callersID(n int) string {
	if n%4 != 1 {
		return ""
	}
	return fmt.Sprint("evt_", n/8)
}

func (r *run) track(e event) {
	h := r.expect(e)
	sent := r.footfall(e)
	var err error
	if e.n%2 == 0 {
		ctx := footfall.WithSite(context.Background(), sent.SiteID)
		err = r.tracker.Track(ctx, sent.Name, sent.Props...)
	} else {
		err = r.tracker.TrackEvent(context.Background(), sent)
	}
	r.tracked(h, err)
}

// tracked records the result of Track.
func (r *run) tracked(h *history, err error) {
	r.mu.Lock()
	h.called, h.accepted = true, err == nil
	r.mu.Unlock()
	r.add(h.n, "Track #%d (%v): %v", h.n, h.fate, err)
	switch {
	case errors.Is(err, footfall.ErrClosed) && r.closed.Load(),
		errors.Is(err, footfall.ErrQueueFull):
		r.refused.Add(1)
	case err != nil:
		r.fault("track", h.n, "Track returned %v", err)
	}
}

func (r *run) trackInvalid() {
	err := r.tracker.Track(context.Background(), "")
	if _, bad := errors.AsType[*footfall.FieldError](err); !bad {
		r.fault("track", none, "an event without a name: Track returned %v", err)
	}
	r.invalid.Add(1)
}

func (r *run) onRejected(*footfall.RejectedError) { r.rejections.Add(1) }

// note adds a line to the trace about no event.
func (r *run) note(format string, args ...any) { r.add(none, format, args...) }

// panics finds the lines of a log that report a panic.
type panics struct {
	slog.Handler
	*api
}

func (p panics) Enabled(context.Context, slog.Level) bool { return true }

func (p panics) Handle(_ context.Context, l slog.Record) error {
	p.add(none, "log: %s %s", l.Level, l.Message)
	if strings.Contains(l.Message, "panic") {
		p.fault("panic", none, "%s", fmt.Sprint(l.Message))
	}
	return nil
}
