package stream

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/transporttest/simulation"
)

// The promises of the default transport, with a broker and a relay between tracker and API. A tracker
// that closes stops its relay, and the relay of the next tracker takes the events that are left.
func TestSimulation(t *testing.T) {
	var brokers sync.Map // by Env.Dir
	var expired atomic.Int64
	simulation.Run(t, simulation.Options{
		Open: func(e simulation.Env) (*footfall.Tracker, error) {
			b, _ := brokers.LoadOrStore(e.Dir, newBroker(30*time.Second, &expired))
			return openSimulated(e.Config, b.(*broker))
		},
		Seeds: 100,
		Store: true,
		Slack: 2 * time.Second, // two looks for room
	})
	assert.Zero(t, expired.Load(), "messages that a relay held were delivered again")
}

// simulated is a Transport that stores events in a broker, and counts what a relay settles.
type simulated struct {
	broker *broker
	relay  *Relay
	next   *ending
	src    *footfall.Source

	mu      sync.Mutex
	own     map[footfall.EventID]bool // Stored and not settled
	changed chan struct{}             // closed when one is settled
}

func openSimulated(cfg footfall.Config, b *broker) (*footfall.Tracker, error) {
	next, err := footfall.NewHTTPTransport(cfg)
	if err != nil {
		return nil, err
	}
	link, err := simulatedLink(b, Config{}.withDefaults(cfg.Logger))
	if err != nil {
		return nil, err
	}
	t := &simulated{broker: b, next: &ending{next, make(chan struct{})}, own: make(map[footfall.EventID]bool), changed: make(chan struct{})}
	rc := RelayConfig{Next: t.next, AckWait: b.ackWait, StopTimeout: time.Millisecond}.withDefaults()
	t.relay = newRelay(link, rc)
	t.relay.feed.src = footfall.NewSource(&counted{t.relay.feed, t})
	cfg.Transport = t
	return footfall.New(cfg)
}

// counted is the Store of the relay. It tells simulated what the relay settles.
type counted struct {
	*feed
	simulated *simulated
}

// Settle implements footfall.Store.
func (c *counted) Settle(records []footfall.Record, o footfall.Outcome, err error) {
	ids := make([]footfall.EventID, len(records))
	for i := range records {
		ids[i] = records[i].ID
	}
	c.feed.Settle(records, o, err)
	if o != footfall.OutcomeLost {
		for _, id := range ids {
			c.simulated.settled(id, o)
		}
	}
}

// Retry implements footfall.Store.
func (c *counted) Retry(r footfall.Record, err error) (footfall.Record, bool) {
	c.simulated.src.Failed(err)
	return c.feed.Retry(r, err)
}

func (t *simulated) settled(id footfall.EventID, o footfall.Outcome) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.own[id] {
		delete(t.own, id)
		t.src.Moved(1, o)
		close(t.changed)
		t.changed = make(chan struct{})
	}
}

// Deliver implements footfall.Transport.
func (t *simulated) Deliver(ctx context.Context, src *footfall.Source) {
	t.src = src
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	go func() { _ = t.relay.Run(running) }() // ends at most a second after next
	records := make([]footfall.Record, 64)
	for _, ok := src.Wait(ctx); ok; _, ok = src.Wait(ctx) {
		for n := src.Take(records); n > 0; n = src.Take(records) {
			t.store(records[:n])
		}
	}
	stop()
	<-t.next.ended
}

func (t *simulated) store(records []footfall.Record) {
	t.mu.Lock()
	for i := range records {
		t.own[records[i].ID] = true
	}
	t.mu.Unlock()
	var all []footfall.Record
	for _, r := range records {
		all = append(all, footfall.Record{ID: r.ID, Key: slices.Clone(r.Key), Body: slices.Clone(r.Body)})
	}
	t.src.Settle(records, footfall.OutcomeStored, nil)
	for _, r := range all {
		t.broker.publish(r)
	}
}

// Flush implements footfall.Flusher.
func (t *simulated) Flush(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := maps.Clone(t.own)
	for {
		maps.DeleteFunc(before, func(id footfall.EventID, _ bool) bool { return !t.own[id] })
		if len(before) == 0 {
			return nil
		}
		changed := t.changed
		t.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		}
		t.mu.Lock()
		if ctx.Err() != nil {
			return errors.Join(ctx.Err(), t.relay.Failure())
		}
	}
}
