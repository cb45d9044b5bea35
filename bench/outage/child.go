package outage

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/bench/peers"
)

// orderVariable is the variable of the environment by which this package runs the
// binary that it is part of as a child.
const orderVariable = "FOOTFALL_BENCH_OUTAGE"

// order is what a child is told to do.
type order struct {
	Contestant string
	URL        string
	Dir        string // of an SDK that keeps events
	Ledger     string
	Events     int // zero only to deliver what was kept
	Rate       int // a second
	Pause      time.Duration
	Flush      time.Duration
	Close      time.Duration
	GiveUp     time.Duration
}

// What a child says of its progress, a line each.
const (
	saysReady     = "ready"
	saysTracked   = "tracked"
	saysUnflushed = "unflushed" // for want of such a method
)

// result is what a child says at its end, as a line of JSON.
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
	Goroutines int
	RSSBefore  int // KiB, of a process that has not opened the SDK
	RSS        int // KiB
}

// A binary that uses this package is its child if it is told so: before anything else
// runs, and whether or not its main function knows.
func init() {
	text := os.Getenv(orderVariable)
	if text == "" {
		return
	}
	out := os.Stdout
	os.Stdout = os.Stderr // the SDK's words are not ours
	var r result
	var o order
	err := json.Unmarshal([]byte(text), &o)
	if err == nil {
		r, err = obey(&o, out)
	}
	if err != nil {
		r.Failed = err.Error()
	}
	_ = json.NewEncoder(out).Encode(r)
	os.Exit(0) // without waiting for an SDK that hangs
}

func obey(o *order, out *os.File) (r result, err error) {
	who, err := findContestant(o.Contestant)
	if err != nil {
		return r, err
	}
	l, err := openLedger(o.Ledger)
	if err != nil {
		return r, err
	}
	before := runtime.NumGoroutine()
	r.RSSBefore = peakRSS()
	client, err := who.open(o.URL, o.Dir)
	if err != nil {
		return r, err
	}
	peak := watchGoroutines()
	in := bufio.NewReader(os.Stdin)
	say := func(what string) { _, _ = out.WriteString(what + "\n") }
	ask := func(what string) { say(what); _, _ = in.ReadString('\n') } // or the parent is gone
	say(saysReady)
	o.track(client, l, &r)
	time.Sleep(o.Pause)
	ask(saysTracked)
	if o.flush(client, &r); r.NoFlush {
		ask(saysUnflushed)
	}
	o.close(client, &r)
	r.Goroutines = int(peak.Load()) - before - 1 // watchGoroutines has one
	r.RSS = peakRSS()
	return r, nil
}

// watchGoroutines keeps the largest number of goroutines that it saw.
func watchGoroutines() *atomic.Int64 {
	var peak atomic.Int64
	go func() {
		for range time.Tick(5 * time.Millisecond) {
			peak.Store(max(peak.Load(), int64(runtime.NumGoroutine())))
		}
	}()
	return &peak
}

// track returns when all events are tracked, or an SDK that blocks is given up.
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

// tick is how often events are tracked.
const tick = 5 * time.Millisecond

// pace returns the longest time that a call of Track took.
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

func (o *order) flush(client peers.Client, r *result) {
	if o.Flush == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), o.Flush)
	defer cancel()
	began := time.Now()
	err, back := within(o.Flush+o.GiveUp, func() error { return client.Flush(ctx) })
	r.Flush = time.Since(began)
	r.NoFlush = errors.Is(err, peers.ErrNoFlush)
	switch {
	case !back:
		r.FlushError = notBack
	case err != nil:
		r.FlushError = err.Error()
	}
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
	if err != nil {
		r.CloseError = err.Error()
	}
}

// notBack stands for the error of a Flush that did not return.
const notBack = "not back"

// within returns false if do took longer than it may.
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

// peakRSS is in KiB; zero if the system does not tell.
func peakRSS() int {
	status, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, _ := strconv.Atoi(strings.Fields(value)[0])
			return kib
		}
	}
	return 0
}
