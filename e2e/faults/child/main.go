//go:build linux

// Child is an application that tracks numbered events, for tests that kill it. It writes
// the number of each event that the tracker accepted, and obeys lines on standard input.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/spool"
)

// options are the settings that tests choose.
type options struct {
	api, dir  string
	shared    bool
	first     int64
	durable   int
	pause     time.Duration
	pad       int
	rate      int
	count     int
	interval  time.Duration
	backoff   time.Duration
	inFlight  int
	tmpfs     int
	fileLimit uint64
	readOnly  bool
	failures  bool
}

func parse() (o options) {
	flag.StringVar(&o.api, "api", "", "base URL of the API")
	flag.StringVar(&o.dir, "dir", "", "directory of the spool")
	flag.BoolVar(&o.shared, "shared", false, "share the directory")
	flag.Int64Var(&o.first, "first", 0, "number of the first event")
	flag.IntVar(&o.durable, "durable", 0, "goroutines that call TrackDurable")
	flag.DurationVar(&o.pause, "pause", 0, "how long each of them pauses between two calls")
	flag.IntVar(&o.pad, "pad", 0, "bytes that an event is larger by")
	flag.IntVar(&o.rate, "rate", 0, "calls of Track a second, from one goroutine")
	flag.IntVar(&o.count, "count", 0, "calls of Track after which it is enough; 0 is never")
	flag.DurationVar(&o.interval, "interval", 0, "Config.FlushInterval")
	flag.DurationVar(&o.backoff, "backoff", 100*time.Millisecond, "Config.BackoffMax")
	flag.IntVar(&o.inFlight, "inflight", 16, "Config.MaxInFlight")
	flag.IntVar(&o.tmpfs, "tmpfs", 0, "MiB of a tmpfs to mount on the directory")
	flag.Uint64Var(&o.fileLimit, "filelimit", 0, "bytes that a file may have (RLIMIT_FSIZE)")
	flag.BoolVar(&o.readOnly, "readonly", false, "make the directory read-only")
	flag.BoolVar(&o.failures, "failures", false, "count the requests that fail, with an http.Client of the application")
	flag.Parse()
	return o
}

func main() {
	if err := run(parse()); err != nil {
		fmt.Fprintln(os.Stderr, "child:", err)
		os.Exit(1)
	}
}

func run(o options) error {
	if err := shrinkDisk(&o); err != nil {
		return err
	}
	a := &app{options: o}
	a.number.Store(o.first)
	var err error
	if a.tracker, a.spool, err = open(&o); err != nil {
		return err
	}
	a.say("open")
	var tracking sync.WaitGroup
	ctx, stop := context.WithCancel(context.Background())
	for range o.durable {
		tracking.Go(func() { a.trackDurable(ctx) })
	}
	if o.rate > 0 {
		tracking.Go(func() { a.trackAtRate(ctx) })
	}
	a.obey()
	stop()
	tracking.Wait()
	a.close()
	return nil
}

func open(o *options) (*footfall.Tracker, *spool.Spool, error) {
	cfg := footfall.Config{
		BaseURL: o.api, APIKey: "test-key", SiteID: "site_test", DefaultURL: "https://example.com/",
		FlushInterval: o.interval, MaxInFlight: o.inFlight, AttemptTimeout: time.Second,
		BackoffMin: 10 * time.Millisecond, BackoffMax: o.backoff,
		Logger: logger,
	}
	if o.failures {
		cfg.HTTPClient = &http.Client{Transport: failing{&http.Transport{MaxConnsPerHost: o.inFlight, MaxIdleConnsPerHost: o.inFlight}}}
	}
	return spool.Open(cfg, spool.Config{Dir: o.dir, Shared: o.shared, Logger: logger})
}

// failing counts the requests that fail.
type failing struct{ http.RoundTripper }

var failures atomic.Int64

// RoundTrip implements http.RoundTripper.
func (f failing) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := f.RoundTripper.RoundTrip(r)
	if err != nil {
		failures.Add(1)
	}
	return resp, err
}

var logger = slog.New(slog.NewTextHandler(os.Stderr, nil))

// app is the application.
type app struct {
	options
	tracker *footfall.Tracker
	spool   *spool.Spool
	number  atomic.Int64
	mu      sync.Mutex // of standard output
}

// say writes a line with one system call, so that the reader has it whole or not at all
// when the process is killed.
func (a *app) say(format string, args ...any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	fmt.Fprintf(os.Stdout, format+"\n", args...)
}

// event returns the next number and the props of its event.
func (a *app) event() (int64, []footfall.Prop) {
	n := a.number.Add(1)
	return n, []footfall.Prop{
		footfall.P("n", n), footfall.P("pid", os.Getpid()), footfall.P("at", time.Now().UnixNano()),
		footfall.P("pad", strings.Repeat("x", a.pad)),
	}
}

func (a *app) trackDurable(ctx context.Context) {
	for ctx.Err() == nil {
		n, props := a.event()
		if err := a.tracker.TrackDurable(ctx, footfall.Event{Name: "durable", Props: props}); err == nil {
			a.say("durable %d", n)
		}
		time.Sleep(a.pause)
	}
}

// trackAtRate tracks at the rate on average: after a late tick it catches up.
func (a *app) trackAtRate(ctx context.Context) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	began := time.Now()
	for done := 0; a.count == 0 || done < a.count; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		due := int(time.Since(began).Seconds() * float64(a.rate))
		if a.count > 0 {
			due = min(due, a.count)
		}
		for ; done < due; done++ {
			a.track(ctx)
		}
	}
	a.say("tracked")
}

func (a *app) track(ctx context.Context) {
	n, props := a.event()
	if err := a.tracker.Track(ctx, "plain", props...); err != nil {
		a.say("refused %d %v", n, err)
		return
	}
	a.say("plain %d %d", n, time.Now().UnixNano())
}

// obey returns at the end of the input.
func (a *app) obey() {
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		switch in.Text() {
		case "flush":
			a.flush()
		case "report":
			a.report()
		case "room":
			a.say("room %v", growDisk(&a.options))
		}
	}
}

// patience bounds Flush and Close.
const patience = 2 * time.Minute

func (a *app) flush() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	a.say("flushed %v", a.tracker.Flush(ctx))
}

func (a *app) close() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err := a.tracker.Close(ctx)
	a.report()
	a.say("closed %v", err)
}

// report writes a report for the tests, whose type report has the same names.
func (a *app) report() {
	line, err := json.Marshal(map[string]any{
		"Tracker": a.tracker.Stats(), "Spool": a.spool.Stats(), "PeakKiB": peakKiB(), "Failures": failures.Load(),
	})
	if err != nil {
		panic(err) // impossible: the report has only numbers
	}
	a.say("report %s", line)
}
