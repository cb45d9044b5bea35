package stream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/footfall-dev/footfall"
)

// Change is a bound of a stream that [Apply] has changed.
type Change struct {
	Stream  string
	Setting string // as in [Difference]
	From    string
	To      string
}

// Apply changes the bounds of the stream of events and of the stream of rejected events to the
// fields of cfg that are not zero: Replicas, MaxBytes, MaxAge, DuplicateWindow, RejectedMaxBytes and
// RejectedMaxAge. Programs and relays go on meanwhile. Apply returns the changes, also those before
// an error. It creates no stream. The error matches jetstream.ErrStreamNotFound if there is no
// stream of events, and is a [*SettingsError] if a stream cannot be used whatever its bounds are. A
// bound that would remove events of a stream, or an age that would be less than the duplicate window, is
// a [*footfall.FieldError].
func Apply(ctx context.Context, cfg Config) ([]Change, error) {
	link, err := openExisting(cfg)
	if err != nil {
		return nil, err
	}
	defer link.close()
	if !link.nc.IsConnected() {
		return nil, link.away()
	}
	changes, err := link.apply(ctx, link.cfg.wanted(), bounds{"", cfg.Replicas, cfg.MaxBytes, cfg.MaxAge, cfg.DuplicateWindow})
	if err != nil {
		return changes, err
	}
	more, err := link.apply(ctx, link.cfg.wantedRejected(), bounds{"Rejected", cfg.Replicas, cfg.RejectedMaxBytes, cfg.RejectedMaxAge, cfg.DuplicateWindow})
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		err = nil // the first relay creates it
	}
	return append(changes, more...), err
}

// openExisting connects for a change of streams that exist: a bound that cfg does not have is the stream's.
func openExisting(cfg Config) (*link, error) {
	if cfg.MaxAge == 0 {
		cfg.MaxAge = -1 // otherwise the duplicate window would be compared with the default
	}
	return open(cfg, "footfall stream apply")
}

// bounds are the bounds of a stream. Zero keeps a bound.
type bounds struct {
	prefix    string // of the fields of Config
	replicas  int
	bytes     int64
	age       time.Duration // negative for none
	duplicate time.Duration
}

// apply changes the bounds of a stream, in one request.
func (l *link) apply(ctx context.Context, want jetstream.StreamConfig, b bounds) ([]Change, error) {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.Timeout)
	defer cancel()
	s, err := l.js.Stream(ctx, want.Name)
	if err != nil {
		return nil, l.refused(streamInfo, want.Name, err)
	}
	info := s.CachedInfo()
	if other, ok := errors.AsType[*SettingsError](compare(info.Config, want)); ok && other.Fatal() {
		return nil, other
	}
	before, after := info.Config, b.in(info.Config)
	changes := changed(before, after)
	if len(changes) == 0 {
		return nil, nil
	}
	if err := b.refused(info, after); err != nil {
		return nil, err
	}
	if _, err := l.js.UpdateStream(ctx, after); err != nil {
		return nil, l.refused(streamUpdate, want.Name, err)
	}
	return changes, nil
}

// in returns c with the bounds that are not zero.
func (b bounds) in(c jetstream.StreamConfig) jetstream.StreamConfig {
	if b.replicas != 0 {
		c.Replicas = b.replicas
	}
	if b.bytes != 0 {
		c.MaxBytes = b.bytes
	}
	if b.age != 0 {
		c.MaxAge = max(b.age, 0)
	}
	if b.duplicate != 0 {
		c.Duplicates = b.duplicate
	}
	return c
}

// changed lists what differs between two settings of a stream.
func changed(before, after jetstream.StreamConfig) (list []Change) {
	if other, ok := errors.AsType[*SettingsError](compare(before, after)); ok {
		for _, d := range other.Differences {
			list = append(list, Change{after.Name, d.Setting, d.Have, d.Want})
		}
	}
	return list
}

// refused returns an error if the stream would lose events with the bounds of after, or if NATS would
// refuse them. A stream that discards new messages keeps those that are there.
func (b bounds) refused(info *jetstream.StreamInfo, after jetstream.StreamConfig) error {
	wrong := func(field, format string, args ...any) error {
		return &footfall.FieldError{Field: "stream.Config." + field, Reason: fmt.Sprintf(format, args...)}
	}
	age, bytes := oldest(info), info.State.Bytes
	switch {
	case after.MaxAge > 0 && after.Duplicates > after.MaxAge && b.age == 0:
		return wrong("DuplicateWindow", "%v is longer than the max age of NATS stream %q, %v, which NATS does not allow", after.Duplicates, after.Name, after.MaxAge)
	case after.MaxAge > 0 && after.Duplicates > after.MaxAge:
		return wrong(b.prefix+"MaxAge", "%v is less than the duplicate window of NATS stream %q, %v, which NATS does not allow: change both", after.MaxAge, after.Name, after.Duplicates)
	case after.MaxAge > 0 && age > after.MaxAge:
		return wrong(b.prefix+"MaxAge", "%v would remove events of NATS stream %q, whose oldest is %v old: deliver or purge them first", after.MaxAge, after.Name, age.Round(time.Second))
	case after.Discard == jetstream.DiscardOld && after.MaxBytes > 0 && bytes > uint64(after.MaxBytes):
		return wrong(b.prefix+"MaxBytes", "%d would remove events of NATS stream %q, which has %d bytes: retry or purge them first", after.MaxBytes, after.Name, bytes)
	}
	return nil
}
