package test

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
	"github.com/footfall-dev/footfall/outbox/internal/relay"
	"github.com/footfall-dev/footfall/outbox/internal/rows"
	"github.com/footfall-dev/footfall/transporttest/simulation"
)

const simulatedLease = 30 * time.Second

// The promises of the default transport, with a table in memory between tracker and API. A tracker that closes
// stops its Relay, and the Relay of the next tracker takes the rows that are left.
func TestSimulation(t *testing.T) {
	t.Parallel()
	var tables sync.Map // by Env.Dir
	var expired atomic.Int64
	simulation.Run(t, simulation.Options{
		Open: func(e simulation.Env) (*footfall.Tracker, error) {
			table, _ := tables.LoadOrStore(e.Dir, &memory{expired: &expired})
			return openSimulated(e.Config, table.(*memory))
		},
		Seeds: 100,
		Store: true,
		Slack: 2 * time.Second, // two looks for room
	})
	assert.Zero(t, expired.Load(), "rows that a Relay held were claimed again")
}

// memory is a table in memory and in fake time.
type memory struct {
	expired *atomic.Int64 // rows whose lease was over

	mu      sync.Mutex
	waiting []*stored
}

// stored is a row of memory.
type stored struct {
	row  rows.Row
	due  time.Time
	held bool
}

var _ relay.Table = (*memory)(nil)

func (m *memory) insert(r *footfall.Record) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.waiting = append(m.waiting, &stored{row: rows.Row{ID: r.ID.String(), Key: string(r.Key), Body: slices.Clone(r.Body)}})
}

// Peek implements relay.Table.
func (m *memory) Peek(context.Context) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	return slices.ContainsFunc(m.waiting, func(s *stored) bool { return !s.due.After(now) }), nil
}

// Claim implements relay.Table.
func (m *memory) Claim(_ context.Context, n int, again bool, lease time.Duration) (claimed []rows.Row, _ error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	slices.SortStableFunc(m.waiting, func(a, b *stored) int { return a.due.Compare(b.due) })
	for _, s := range m.waiting {
		if len(claimed) == n || s.due.After(now) || again && s.due.IsZero() {
			continue
		}
		if s.held {
			m.expired.Add(1)
		}
		s.held, s.due = true, now.Add(lease)
		s.row.Claims++
		claimed = append(claimed, s.row)
	}
	return claimed, nil
}

// Write implements relay.Table.
func (m *memory) Write(_ context.Context, c *rows.Changes) error {
	m.free(c.Free, time.Time{})
	for wait, ids := range c.Later {
		m.free(ids, time.Now().Add(wait))
	}
	m.remove(c.Delivered)
	return nil
}

func (m *memory) free(ids []string, due time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.waiting {
		if slices.Contains(ids, s.row.ID) {
			s.held, s.due = false, due
		}
	}
}

func (m *memory) remove(ids []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.waiting = slices.DeleteFunc(m.waiting, func(s *stored) bool { return slices.Contains(ids, s.row.ID) })
}

// Extend implements relay.Table.
func (m *memory) Extend(_ context.Context, ids []string, lease time.Duration) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for _, s := range m.waiting {
		if s.held && slices.Contains(ids, s.row.ID) {
			s.due = time.Now().Add(lease)
			n++
		}
	}
	return n == len(ids), nil
}

// Recover implements relay.Table.
func (m *memory) Recover(context.Context, time.Duration) error { return nil }

// Reject implements relay.Table.
func (m *memory) Reject(_ context.Context, all []rows.Rejection) error {
	for _, r := range all {
		m.remove([]string{r.ID})
	}
	return nil
}

// simulated is a Transport that stores events in a table, and counts what a Relay settles.
type simulated struct {
	table *memory
	cfg   relay.Config
	src   *footfall.Source

	mu      sync.Mutex
	own     map[string]bool // Stored and not settled
	changed chan struct{}   // closed when one is settled
	relay   *relay.Relay
}

func openSimulated(cfg footfall.Config, table *memory) (*footfall.Tracker, error) {
	next, err := footfall.NewHTTPTransport(cfg)
	if err != nil {
		return nil, err
	}
	t := &simulated{table: table, own: make(map[string]bool), changed: make(chan struct{})}
	t.cfg = relay.Config{
		Table: table, Next: next, Poll: time.Second, Lease: simulatedLease, Timeout: 5 * time.Second,
		MaxWait: 8 * simulatedLease, MaxHeld: 1024, MaxBody: 1 << 20, Logger: cfg.Logger, Settled: t.settled,
	}
	cfg.Transport = t
	return footfall.New(cfg)
}

func (t *simulated) settled(id string, o footfall.Outcome) {
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
	r := relay.Start(t.cfg)
	t.mu.Lock()
	t.relay = r
	t.mu.Unlock()
	records := make([]footfall.Record, 64)
	for _, ok := src.Wait(ctx); ok; _, ok = src.Wait(ctx) {
		for n := src.Take(records); n > 0; n = src.Take(records) {
			t.store(records[:n])
		}
		r.Wake()
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Millisecond)
	defer cancel()
	_ = r.Close(closing) // what is in flight goes back to the table
}

func (t *simulated) store(records []footfall.Record) {
	t.mu.Lock()
	for i := range records {
		t.own[records[i].ID.String()] = true
	}
	t.mu.Unlock()
	all := slices.Clone(records)
	for i := range all {
		all[i] = footfall.Record{ID: all[i].ID, Key: slices.Clone(all[i].Key), Body: slices.Clone(all[i].Body)}
	}
	t.src.Settle(records, footfall.OutcomeStored, nil)
	for i := range all {
		t.table.insert(&all[i])
	}
}

// Flush implements footfall.Flusher.
func (t *simulated) Flush(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := maps.Clone(t.own)
	for {
		maps.DeleteFunc(before, func(id string, _ bool) bool { return !t.own[id] })
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
