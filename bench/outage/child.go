package outage

import (
	"context"
	"errors"
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/bench/peers"
	"github.com/footfall-dev/footfall/bench/post/child"
)

const role = "contestant"

// order is the task of a child.
type order struct {
	Contestant string
	URL        string
	Dir        string // for SDKs that store events
	Ledger     string
	Events     int // zero to deliver stored events only
	Rate       int // a second
	Pause      time.Duration
	Flush      time.Duration
	Close      time.Duration
	GiveUp     time.Duration
}

// Progress messages of a child.
const (
	saysReady     = "ready"
	saysTracked   = "tracked"
	saysFlushed   = "flushed"
	saysUnflushed = "unflushed" // there is no such method
)

// result is the final message of a child.
type result struct {
	Failed     string // why there was no result
	Stuck      bool   // Track did not return
	Longest    time.Duration
	Flush      time.Duration
	FlushError string
	NoFlush    bool // the SDK has none
	Close      time.Duration
	CloseError string
	Back       bool // Close returned
	SaidLost   int
	Complaints int // reported errors without a number of events
	Goroutines int
	RSSBefore  int // KiB, before the SDK was opened
	RSS        int // KiB
}

func init() {
	child.Handle(role, func(o order, p *child.Parent) error {
		os.Stdout = os.Stderr // the SDK's output is not ours
		r, err := obey(&o, p)
		if err != nil {
			r.Failed = err.Error()
		}
		return p.Say(r) // and exit, even if the SDK hangs
	})
}

func obey(o *order, p *child.Parent) (r result, err error) {
	who, err := findContestant(o.Contestant)
	if err != nil {
		return r, err
	}
	l, err := openLedger(o.Ledger)
	if err != nil {
		return r, err
	}
	before := runtime.NumGoroutine()
	r.RSSBefore = child.PeakRSS()
	client, err := who.open(o.URL, o.Dir)
	if err != nil {
		return r, err
	}
	peak := watchGoroutines()
	say := func(what string) { err = errors.Join(err, p.Say(what)) }
	say(saysReady)
	o.track(client, l, &r)
	time.Sleep(o.Pause)
	say(saysTracked)
	<-p.Asks()
	if o.Flush > 0 {
		say(o.flush(client, &r))
		<-p.Asks()
	}
	o.close(client, &r)
	r.Goroutines = int(peak.Load()) - before - 1 // without the goroutine of watchGoroutines
	r.RSS = child.PeakRSS()
	return r, err
}

// watchGoroutines records the maximum number of goroutines.
func watchGoroutines() *atomic.Int64 {
	var peak atomic.Int64
	go func() {
		for range time.Tick(5 * time.Millisecond) {
			peak.Store(max(peak.Load(), int64(runtime.NumGoroutine())))
		}
	}()
	return &peak
}

// track returns when all events are tracked, or when Track blocks for too long.
func (o *order) track(client peers.Client, l ledger, r *result) {
	done := make(chan time.Duration)
	go func() { done <- o.pace(client, l) }()
	load := time.Duration(o.Events) * time.Second / time.Duration(max(o.Rate, 1))
	select {
	case r.Longest = <-done:
	case <-time.After(load + o.GiveUp):
		r.Stuck = true
	}
}

// tick is the interval of tracking.
const tick = 5 * time.Millisecond

// pace returns the longest duration of a call of Track.
func (o *order) pace(client peers.Client, l ledger) (longest time.Duration) {
	began := time.Now()
	ticks := time.NewTicker(tick)
	defer ticks.Stop()
	for n := 0; n < o.Events; {
		now := <-ticks.C
		due := int(int64(now.Sub(began)) * int64(o.Rate) / int64(time.Second))
		for ; n < min(due, o.Events); n++ {
			start := time.Now()
			l.note(n+1, client.Track(n+1))
			longest = max(longest, time.Since(start))
		}
	}
	return longest
}

// flush calls Flush and returns its result as a message.
func (o *order) flush(client peers.Client, r *result) string {
	ctx, cancel := context.WithTimeout(context.Background(), o.Flush)
	defer cancel()
	began := time.Now()
	err, back := within(o.Flush+o.GiveUp, func() error { return client.Flush(ctx) })
	r.Flush = time.Since(began)
	switch {
	case errors.Is(err, peers.ErrNoFlush):
		r.NoFlush = true
		return saysUnflushed
	case !back:
		r.FlushError = notBack
	case err != nil:
		r.FlushError = err.Error()
	}
	return saysFlushed
}

func (o *order) close(client peers.Client, r *result) {
	ctx, cancel := context.WithTimeout(context.Background(), o.Close)
	defer cancel()
	began := time.Now()
	err, back := within(o.GiveUp, func() error { return client.Close(ctx) })
	r.Close, r.Back = time.Since(began), back
	if lost, ok := errors.AsType[*footfall.CloseError](err); ok {
		r.SaidLost = int(lost.Lost)
	}
	if t, ok := client.(teller); ok {
		r.SaidLost += told(t)
	}
	if c, ok := client.(complainer); ok {
		r.Complaints = c.Complaints()
	}
	if err != nil {
		r.CloseError = err.Error()
	}
}

// notBack replaces the error of a Flush that did not return.
const notBack = "not back"

// within returns false if do took longer than limit.
func within(limit time.Duration, do func() error) (err error, back bool) {
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err := <-done:
		return err, true
	case <-time.After(limit):
		return nil, false
	}
}
