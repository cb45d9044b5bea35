package stream

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Lag describes the events that the relays have not delivered.
type Lag struct {
	Events   uint64        // in the stream, including events that relays have taken
	Held     int           // taken by relays and not acknowledged
	Oldest   time.Duration // age of the oldest event in the stream, by the clock of NATS
	Rejected uint64        // in the stream of rejected events
}

// Lag returns the lag of all relays together. It requests it from NATS.
func (r *Relay) Lag(ctx context.Context) (Lag, error) {
	ctx, cancel := context.WithTimeout(ctx, r.link.cfg.Timeout)
	defer cancel()
	cfg := &r.link.cfg
	s, err := r.link.js.Stream(ctx, cfg.Name)
	if err != nil {
		return Lag{}, fmt.Errorf("stream: NATS stream %q: %w", cfg.Name, err)
	}
	info := s.CachedInfo()
	l := Lag{Events: info.State.Msgs, Oldest: oldest(info)}
	if c, err := s.Consumer(ctx, r.cfg.Consumer); err == nil {
		l.Held = c.CachedInfo().NumAckPending
	}
	if rejected, err := r.link.js.Stream(ctx, cfg.rejectedName()); err == nil {
		l.Rejected = rejected.CachedInfo().State.Msgs
	}
	return l, nil
}

// oldest returns the age of the oldest message of a stream, or 0 if there is none.
func oldest(info *jetstream.StreamInfo) time.Duration {
	if info.State.Msgs == 0 {
		return 0
	}
	now := info.TimeStamp
	if now.IsZero() { // NATS before 2.10
		now = time.Now()
	}
	return max(0, now.Sub(info.State.FirstTime))
}
