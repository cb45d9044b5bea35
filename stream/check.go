package stream

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go/jetstream"
)

// Validate returns the errors of wrong fields that [New], [NewRelay] and the other functions
// return, each a [*footfall.FieldError], without a connection.
func (c Config) Validate() error {
	c = c.withDefaults(nil)
	return c.check()
}

// Check compares the stream of events and the stream of rejected events with cfg. It creates and
// changes nothing. The error joins a [*SettingsError] for each stream that differs, also if only
// bounds do, or matches jetstream.ErrStreamNotFound if there is no stream of events. A stream of
// rejected events may be missing, because the first relay creates it.
func Check(ctx context.Context, cfg Config) error {
	link, err := open(cfg, "footfall check")
	if err != nil {
		return err
	}
	defer link.close()
	if !link.nc.IsConnected() {
		return link.away()
	}
	if err = link.differences(ctx, link.cfg.wanted()); errors.Is(err, jetstream.ErrStreamNotFound) {
		return err
	}
	rejected := link.differences(ctx, link.cfg.wantedRejected())
	if errors.Is(rejected, jetstream.ErrStreamNotFound) {
		rejected = nil
	}
	return errors.Join(err, rejected)
}

// differences compares an existing stream.
func (l *link) differences(ctx context.Context, want jetstream.StreamConfig) error {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.Timeout)
	defer cancel()
	s, err := l.js.Stream(ctx, want.Name)
	if err != nil {
		return l.refused(streamInfo, want.Name, err)
	}
	return compare(s.CachedInfo().Config, want)
}
