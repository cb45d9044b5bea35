package stream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Lag describes the events that the relays have not delivered, and the bounds of the streams.
type Lag struct {
	Events   uint64        // in the stream, including events that relays have taken
	Held     int           // taken by relays and not acknowledged
	Oldest   time.Duration // age of the oldest event in the stream, by the clock of NATS
	Expired  uint64        // removed before a relay had taken them, because of their age or by a purge, until a relay takes a later one
	Bytes    uint64        // of the stream
	MaxBytes int64         // above which it refuses events; not positive if it has no bound
	MaxAge   time.Duration // after which it removes events unsent; 0 if it has no bound
	Replicas int           // servers that keep each event

	DuplicateWindow time.Duration // in which an event that is published twice is kept once

	// Of the stream of rejected events, which the first relay creates. All are 0 before.
	Rejected         uint64        // events
	RejectedBytes    uint64        // bytes
	RejectedMaxBytes int64         // above which it removes its oldest events; negative if it has no bound
	RejectedMaxAge   time.Duration // after which it removes events; 0 if it has no bound
}

// Lag returns the lag of all relays together. It requests it from NATS.
func (r *Relay) Lag(ctx context.Context) (Lag, error) { return r.link.lag(ctx, r.cfg.Consumer) }

// Inspect returns the same Lag as [Relay.Lag]. It is for programs that are not relays. relay names the
// Consumer. The error matches jetstream.ErrStreamNotFound if there is no stream of events.
func Inspect(ctx context.Context, cfg Config, relay RelayConfig) (Lag, error) {
	relay = relay.withDefaults()
	if err := relay.check(); err != nil {
		return Lag{}, err
	}
	link, err := open(cfg, "footfall stream info")
	if err != nil {
		return Lag{}, err
	}
	defer link.close()
	if !link.nc.IsConnected() {
		return Lag{}, link.away()
	}
	return link.lag(ctx, relay.Consumer)
}

func (l *link) lag(ctx context.Context, consumer string) (Lag, error) {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.Timeout)
	defer cancel()
	s, err := l.js.Stream(ctx, l.cfg.Name)
	if err != nil {
		return Lag{}, l.refused(streamInfo, l.cfg.Name, err)
	}
	info := s.CachedInfo()
	is := Lag{
		Events: info.State.Msgs, Oldest: oldest(info), Bytes: info.State.Bytes,
		MaxBytes: info.Config.MaxBytes, MaxAge: info.Config.MaxAge, Replicas: info.Config.Replicas,
		DuplicateWindow: info.Config.Duplicates,
	}
	switch c, err := s.Consumer(ctx, consumer); {
	case err == nil:
		is.Held, is.Expired = c.CachedInfo().NumAckPending, expired(info, c.CachedInfo())
	case !errors.Is(err, jetstream.ErrConsumerNotFound):
		err = l.reason(err, consumerInfo+l.cfg.Name+"."+consumer)
		return Lag{}, fmt.Errorf("stream: consumer %q of NATS stream %q: %w", consumer, l.cfg.Name, err)
	}
	switch rejected, err := l.js.Stream(ctx, l.cfg.rejectedName()); {
	case err == nil:
		info := rejected.CachedInfo()
		is.Rejected, is.RejectedBytes, is.RejectedMaxBytes, is.RejectedMaxAge = info.State.Msgs, info.State.Bytes, info.Config.MaxBytes, info.Config.MaxAge
	case !errors.Is(err, jetstream.ErrStreamNotFound):
		return Lag{}, l.refused(streamInfo, l.cfg.rejectedName(), err)
	}
	return is, nil
}

// expired returns how many messages the stream has removed after the last one that a consumer has delivered.
func expired(s *jetstream.StreamInfo, c *jetstream.ConsumerInfo) uint64 {
	return max(s.State.FirstSeq, c.Delivered.Stream+1) - c.Delivered.Stream - 1
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
