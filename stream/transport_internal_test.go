package stream

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/transporttest"
)

// The guarantees of the default transport, with a stream and a relay between tracker and API.
func TestTransport(t *testing.T) {
	t.Parallel()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true})
	require.NoError(t, err)
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	require.True(t, s.ReadyForConnections(time.Minute))
	var streams atomic.Int64
	transporttest.Run(t, func(cfg footfall.Config) (footfall.Transport, error) {
		name := fmt.Sprint("T", streams.Add(1))
		return openThrough(cfg, Config{ // the server reserves the disk space of all streams
			URL: s.ClientURL(), Name: name, Subject: name, Replicas: 1, MaxBytes: 16 << 20, RejectedMaxBytes: 1 << 20,
		})
	}, without...)
}

// A tracker that closes does not reach the relay, and a relay that stops hands back its events.
var without = []transporttest.Without{
	{Row: "Close delivers events that wait in backoff", Because: handsBack},
	{Row: "Close gives every event one last attempt and returns the number of lost events", Because: handsBack},
	{Row: "a new connection that breaks is a failed attempt", Because: handsBack + ", and the row closes the tracker in the outage"},
	{Row: "an outage costs a request per backoff step", Because: handsBack + ", and the row closes the tracker in the outage"},
}

const handsBack = "a relay that stops makes no last attempt: the events stay in the stream"

// through is a Transport that publishes events to a stream, and settles them as a relay does.
type through struct {
	stream                  *Stream
	relay                   *Relay
	src                     *footfall.Source
	footfall.OutageReporter // of the relay

	mu      sync.Mutex
	pending map[footfall.EventID]footfall.Record
	changed chan struct{}
}

func openThrough(api footfall.Config, cfg Config) (footfall.Transport, error) {
	t := &through{pending: make(map[footfall.EventID]footfall.Record), changed: make(chan struct{}, 1)}
	var err error
	if t.relay, err = NewRelay(api, cfg, RelayConfig{StopTimeout: 100 * time.Millisecond}); err != nil {
		return nil, err
	}
	t.OutageReporter = t.relay.cfg.Next.(footfall.OutageReporter)
	t.relay.feed.src = footfall.NewSource(&observed{t.relay.feed, t})
	t.stream, err = New(api, cfg)
	return t, err
}

// observed is the Store of the relay. It tells through what the relay settles.
type observed struct {
	*feed
	through *through
}

// Settle implements footfall.Store.
func (o *observed) Settle(records []footfall.Record, out footfall.Outcome, err error) {
	var ids []footfall.EventID
	for i := range records {
		ids = append(ids, records[i].ID)
	}
	o.feed.Settle(records, out, err)
	if out == footfall.OutcomeLost {
		return // it is in the stream again
	}
	for _, id := range ids {
		o.through.settle(id, out, err)
	}
}

// Retry implements footfall.Store.
func (o *observed) Retry(r footfall.Record, err error) (footfall.Record, bool) {
	o.through.src.Failed(err)
	return o.feed.Retry(r, err)
}

func (t *through) settle(id footfall.EventID, out footfall.Outcome, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r, ok := t.pending[id]; ok {
		delete(t.pending, id)
		t.src.Settle([]footfall.Record{r}, out, err)
		signal(t.changed)
	}
}

// Waiting implements footfall.Store, of the stream.
func (t *through) Waiting() (int, bool) { return t.src.Waiting() }

// Take implements footfall.Store.
func (t *through) Take(dst []footfall.Record) int {
	n := t.src.Take(dst)
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range dst[:n] {
		t.pending[r.ID] = r
	}
	return n
}

// Retry implements footfall.Store.
func (t *through) Retry(r footfall.Record, err error) (footfall.Record, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	kept, ok := t.src.Keep(r, err)
	if _, pending := t.pending[r.ID]; pending && ok {
		t.pending[r.ID] = kept // to settle in its place
	}
	return kept, ok
}

// Settle implements footfall.Store. What is Stored stays pending.
func (t *through) Settle(records []footfall.Record, o footfall.Outcome, err error) {
	for i := range records {
		if o == footfall.OutcomeStored {
			continue
		}
		t.settle(records[i].ID, o, err)
	}
}

// Deliver implements footfall.Transport.
func (t *through) Deliver(ctx context.Context, src *footfall.Source) {
	t.src = src
	inner := footfall.NewSource(t)
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	var parts sync.WaitGroup
	next := &ending{t.relay.cfg.Next, make(chan struct{})}
	t.relay.cfg.Next = next
	go func() { _ = t.relay.Run(running) }() // ends at most a second after next
	parts.Go(func() {
		for _, ok := src.Wait(ctx); ok; _, ok = src.Wait(ctx) {
			inner.Wake()
		}
		inner.Close()
	})
	t.stream.Deliver(ctx, inner)
	for t.held() > 0 && ctx.Err() == nil {
		select {
		case <-t.changed:
		case <-ctx.Done():
		}
	}
	stop()
	parts.Wait()
	<-next.ended
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range t.pending {
		src.Settle([]footfall.Record{r}, footfall.OutcomeLost, src.Failure())
	}
}

// ending is a Transport that says when it has ended.
type ending struct {
	footfall.Transport
	ended chan struct{}
}

// Deliver implements footfall.Transport.
func (e *ending) Deliver(ctx context.Context, src *footfall.Source) {
	defer close(e.ended)
	e.Transport.Deliver(ctx, src)
}

func (t *through) held() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.pending)
}
