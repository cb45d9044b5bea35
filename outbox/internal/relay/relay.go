// Package relay delivers the rows of an outbox.
package relay

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/outbox/internal/rows"
)

// Table is where the rows are: a rows.Table.
type Table interface {
	Peek(ctx context.Context) (bool, error)
	Claim(ctx context.Context, n int, again bool, lease time.Duration) ([]rows.Row, error)
	Write(ctx context.Context, c *rows.Changes) error
	Extend(ctx context.Context, ids []string, lease time.Duration) (all bool, err error)
	Recover(ctx context.Context, longest time.Duration) error
	Reject(ctx context.Context, all []rows.Rejection) error
}

// Config configures a Relay. All fields are set.
type Config struct {
	Table   Table
	Next    footfall.Transport
	Poll    time.Duration
	Lease   time.Duration
	Timeout time.Duration // of a transaction
	MaxWait time.Duration // of a row that fails and is given back; at least Lease
	MaxHeld int
	MaxBody int
	Logger  *slog.Logger
	Where   string // the rejected events are, for the log

	// Settled is called for each row that is delivered or rejected, if it is set. Only tests set it.
	Settled func(row string, o footfall.Outcome)
}

// Stats counts rows. Claimed is the sum of Repeated, Delivered, Rejected, Returned and Held, except for rows
// that are claimed at the moment.
type Stats struct {
	Claimed   uint64
	Repeated  uint64
	Delivered uint64
	Rejected  uint64
	Returned  uint64
	Held      int
}

// Relay claims rows and delivers them. Two goroutines do so: one uses the table, the other one is Next.
type Relay struct {
	cfg  *Config
	feed *feed
	wake chan struct{} // of capacity 1

	stop      context.CancelFunc // no more claims
	abort     context.CancelFunc // ends the requests in flight
	delivered chan struct{}      // closed when Next has ended
	done      chan struct{}      // closed when all has ended
	once      sync.Once
}

// Start starts a Relay, which runs until Close.
func Start(cfg Config) *Relay {
	r := &Relay{
		cfg: &cfg, feed: newFeed(&cfg), wake: make(chan struct{}, 1),
		delivered: make(chan struct{}), done: make(chan struct{}),
	}
	work, stop := context.WithCancel(context.Background())
	delivery, abort := context.WithCancel(context.Background())
	r.stop, r.abort = stop, abort
	go func() {
		defer close(r.delivered)
		cfg.Next.Deliver(delivery, r.feed.src)
	}()
	go func() {
		defer close(r.done)
		k := newKeeper(r)
		k.run(work)
		k.finish()
	}()
	return r
}

// Wake makes the Relay look for rows now.
func (r *Relay) Wake() { signal(r.wake) }

// Stats returns the counts so far.
func (r *Relay) Stats() Stats { return r.feed.read() }

// Failure returns why the last attempt failed, of those events that the Relay has, or nil.
func (r *Relay) Failure() error { return r.feed.src.Failure() }

// Outage returns the current outage of the API.
func (r *Relay) Outage() (o footfall.Outage, out bool) {
	if next, ok := r.cfg.Next.(footfall.OutageReporter); ok {
		return next.Outage()
	}
	return o, false
}

// lastMoment is how long the last writes may take after the end of the context of Close.
const lastMoment = 250 * time.Millisecond

// Close gives the rows back that are not in flight, waits for the answers to the others until ctx ends, and
// writes what has become of them. The error is the end of ctx.
func (r *Relay) Close(ctx context.Context) error {
	r.once.Do(func() {
		r.stop()
		r.feed.close()
	})
	var err error
	select {
	case <-r.done:
		return nil
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	r.abort()
	timer := time.NewTimer(lastMoment)
	defer timer.Stop()
	select {
	case <-r.done:
	case <-timer.C:
	}
	return err
}
