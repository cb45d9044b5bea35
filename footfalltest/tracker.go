package footfalltest

import (
	"context"
	"encoding/json"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/internal/watch"
)

// Event is an event as the API would receive it.
type Event struct {
	ID     string         `json:"-"` // Idempotency-Key
	SiteID string         `json:"site_id"`
	Name   string         `json:"name"`
	URL    string         `json:"url"`
	Props  map[string]any `json:"props"` // string or float64
}

// Tracker is a footfall.Tracker that keeps its events instead of sending them.
type Tracker struct {
	*footfall.Tracker
	tb       testing.TB
	cfg      footfall.Config
	recorded *recording

	mu     sync.Mutex
	checks []func() // at the end of the test, when the tracker is closed
}

// SiteID is the site of trackers made by New and the one site of an API.
const SiteID = "site_test"

// New returns a tracker for the duration of the test. Its default site is SiteID;
// events without a page are on https://example.com/. A function in
// options may change the Config before the tracker is made.
func New(tb testing.TB, options ...func(*footfall.Config)) *Tracker {
	tb.Helper()
	recorded := &recording{}
	cfg := footfall.Config{SiteID: SiteID, DefaultURL: "https://example.com/", Transport: recorded}
	for _, change := range options {
		change(&cfg)
	}
	tracker, err := footfall.New(cfg)
	if err != nil {
		tb.Fatalf("footfalltest: %v", err)
	}
	t := &Tracker{Tracker: tracker, tb: tb, cfg: cfg, recorded: recorded}
	tb.Cleanup(t.end)
	return t
}

// end closes the tracker and runs the checks.
func (t *Tracker) end() {
	_ = t.Close(context.Background()) // a recording refuses nothing
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, check := range t.checks {
		check()
	}
}

// Events returns the events so far, in the order of acceptance. All events that Track
// accepted before the call are there, so tests need not wait.
func (t *Tracker) Events() []Event {
	t.tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := t.Flush(ctx); err != nil {
		t.tb.Fatalf("footfalltest: %v", err)
	}
	return t.recorded.all()
}

// Names returns the names of Events.
func (t *Tracker) Names() []string {
	t.tb.Helper()
	events := t.Events()
	names := make([]string, len(events))
	for i, e := range events {
		names[i] = e.Name
	}
	return names
}

// recording is a footfall.Transport that delivers into memory.
type recording struct {
	mu     sync.Mutex
	events []Event
	ruled  map[string]bool // names of rules' events
}

var (
	_ footfall.Transport = (*recording)(nil)
	_ watch.Watcher      = (*recording)(nil)
)

// RuleEvent implements watch.Watcher.
func (r *recording) RuleEvent(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ruled == nil {
		r.ruled = make(map[string]bool)
	}
	r.ruled[name] = true
}

func (r *recording) ruledNames() map[string]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.ruled)
}

// Deliver implements footfall.Transport.
func (r *recording) Deliver(ctx context.Context, src *footfall.Source) {
	batch := make([]footfall.Record, 100)
	for _, ok := src.Wait(ctx); ok; _, ok = src.Wait(ctx) {
		for n := src.Take(batch); n > 0; n = src.Take(batch) {
			for i, record := range batch[:n] {
				src.Settle(batch[i:i+1], r.keep(record), nil)
			}
		}
	}
}

func (r *recording) keep(record footfall.Record) footfall.Outcome {
	e, err := parseEvent(record.IdempotencyKey(), record.Body)
	if err != nil {
		return footfall.OutcomeRejected
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
	return footfall.OutcomeDelivered
}

func (r *recording) all() []Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Event(nil), r.events...)
}

func parseEvent(id string, body []byte) (Event, error) {
	e := Event{ID: id}
	return e, json.Unmarshal(body, &e)
}
