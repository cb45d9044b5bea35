//go:build linux

// Caller is an application that calls Track at random times until it is killed. It records
// the events that Track accepted in a ledger that outlives the process.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"syscall"
	"time"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/spool"
)

var (
	api      = flag.String("api", "", "base URL of the API")
	dir      = flag.String("dir", "", "directory of a spool; none: events are in memory only")
	ledger   = flag.String("ledger", "", "file with a byte for each event, set when Track has returned nil")
	rate     = flag.Float64("rate", 1, "calls of Track a second, in the mean")
	interval = flag.Duration("interval", 0, "Config.FlushInterval")
	inFlight = flag.Int("inflight", 0, "Config.MaxInFlight")
)

func main() {
	flag.Parse()
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "caller:", err)
		os.Exit(1)
	}
}

func run() error {
	notes, err := open(*ledger)
	if err != nil {
		return err
	}
	tracker, err := newTracker()
	if err != nil {
		return err
	}
	fmt.Println("open")
	go track(tracker, notes)
	_, err = io.Copy(io.Discard, os.Stdin) // until it is killed, or the test has ended
	return err
}

// open maps the ledger, so that recording an event takes no system call and outlives the
// process.
func open(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return syscall.Mmap(int(f.Fd()), 0, int(info.Size()), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
}

func newTracker() (*footfall.Tracker, error) {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	cfg := footfall.Config{
		BaseURL: *api, APIKey: "test-key", SiteID: "site_test", DefaultURL: "https://example.com/",
		FlushInterval: *interval, MaxInFlight: *inFlight, Logger: log,
	}
	if *dir == "" {
		return footfall.New(cfg)
	}
	tracker, _, err := spool.Open(cfg, spool.Config{Dir: *dir, Logger: log})
	return tracker, err
}

// track calls Track at independent times, as requests arrive: the pauses have an exponential
// distribution. A pause that is too short for a timer is added to the next.
func track(tracker *footfall.Tracker, notes []byte) {
	mean := float64(time.Second) / *rate
	due := time.Now()
	for n := range notes {
		due = due.Add(time.Duration(rand.ExpFloat64() * mean))
		time.Sleep(time.Until(due))
		if tracker.Track(context.Background(), "viewed", footfall.P("n", n), footfall.P("plan", "pro")) == nil {
			notes[n] = 1
		}
	}
}
