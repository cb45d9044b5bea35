package stream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/footfall-dev/footfall"
)

// MaxInFlight is the default of footfall.Config.MaxInFlight for a tracker that [Open] returns,
// and for [New]: the number of published events that wait for their acknowledgement.
const MaxInFlight = 1024

// attemptTimeout is the default of footfall.Config.AttemptTimeout.
const attemptTimeout = 5 * time.Second

// Stream is a [footfall.Transport] that publishes events to a stream of NATS. An event is
// settled as Stored when NATS has acknowledged it. Flush and TrackDurable return then. While
// NATS is unreachable, or the stream is full, events wait in the tracker's queue behind its
// circuit breaker.
type Stream struct {
	transport footfall.Transport // nil in a Stream that delivers nothing
	publisher *publisher
	delivers  atomic.Bool
}

var (
	_ footfall.Transport = (*Stream)(nil)
	_ io.Closer          = (*Stream)(nil)
)

// Open returns a tracker that publishes to a stream of NATS. It connects, and creates the stream
// if there is none. Transport of tracker must be nil; BaseURL and APIKey are not used. The
// error joins the errors of [footfall.New] and [New]. If the tracker is disabled, cfg is
// ignored.
func Open(tracker footfall.Config, cfg Config) (*footfall.Tracker, error) {
	if tracker.Disabled {
		return footfall.New(tracker)
	}
	if tracker.Transport != nil {
		return nil, &footfall.FieldError{Field: "Config.Transport", Reason: "set: stream.Open publishes to the stream; use New for a stream behind another transport"}
	}
	tracker.Transport = &Stream{} // BaseURL and APIKey are not required
	probe, err := footfall.New(tracker)
	if err != nil {
		checked := cfg.withDefaults(tracker.Logger)
		return nil, errors.Join(err, checked.check())
	}
	if err := probe.Close(context.Background()); err != nil {
		return nil, err
	}
	tracker.MaxInFlight = cmp.Or(tracker.MaxInFlight, MaxInFlight)
	s, err := New(tracker, cfg)
	if err != nil {
		return nil, err
	}
	tracker.Transport = s
	t, err := footfall.New(tracker)
	if err != nil {
		_ = s.Close() // no tracker uses it
	}
	return t, err
}

// New returns the Transport of [Open], such as for the Next of a spool. It uses these fields of
// tracker: MaxInFlight, AttemptTimeout, the fields for backoff and probes, Logger and OnRejected.
// Close of the tracker closes the connection, or [Stream.Close] if no tracker uses the Stream.
//
// The error joins a [*footfall.FieldError] for every wrong field, or is a [*SettingsError], or
// says why NATS refuses the connection or does not create the stream. An unreachable NATS server is
// not an error: the Stream connects later and compares the settings then.
func New(tracker footfall.Config, cfg Config) (*Stream, error) {
	cfg = cfg.withDefaults(tracker.Logger)
	if err := cfg.check(); err != nil {
		return nil, err
	}
	tracker.MaxInFlight = cmp.Or(tracker.MaxInFlight, MaxInFlight)
	link, err := dial(cfg, "footfall", -1,
		jetstream.WithPublishAsyncMaxPending(max(tracker.MaxInFlight, 1)),
		jetstream.WithPublishAsyncTimeout(cmp.Or(tracker.AttemptTimeout, attemptTimeout)))
	if err != nil {
		return nil, err
	}
	p := &publisher{link: link, options: []jetstream.PublishOpt{jetstream.WithRetryAttempts(0)}}
	if err := p.ready(context.Background()); err != nil {
		if isMistake(err) {
			p.Close()
			return nil, err
		}
		cfg.Logger.Warn("stream: NATS cannot be used; events wait until it can", "error", err)
	}
	s := &Stream{publisher: p}
	if s.transport, err = footfall.NewStoringTransport(tracker, p); err != nil {
		p.Close()
		return nil, err
	}
	return s, nil
}

// Deliver implements [footfall.Transport].
func (s *Stream) Deliver(ctx context.Context, src *footfall.Source) {
	if s.transport == nil || s.delivers.Swap(true) {
		return
	}
	s.transport.Deliver(ctx, src)
}

// Outage implements [footfall.OutageReporter]: NATS does not acknowledge events.
func (s *Stream) Outage() (o footfall.Outage, out bool) {
	if t, ok := s.transport.(footfall.OutageReporter); ok {
		return t.Outage()
	}
	return o, false
}

// Close closes the connection of a Stream that no tracker uses. While a tracker uses it, Close
// does nothing and returns an error.
func (s *Stream) Close() error {
	if s.delivers.Load() {
		return errors.New("stream: a tracker uses the Stream: close the tracker")
	}
	s.publisher.Close()
	return nil
}

// publisher is a footfall.Poster that publishes to the stream.
type publisher struct {
	*link
	options []jetstream.PublishOpt
	closed  sync.Once
}

var _ footfall.Poster = (*publisher)(nil)

// Post implements footfall.Poster. The record is copied into the connection's buffer before
// PublishMsgAsync returns.
func (p *publisher) Post(ctx context.Context, r footfall.Record, a *footfall.Answer) error {
	if err := p.ready(ctx); err != nil {
		return err
	}
	return p.publish(ctx, r, a)
}

func (p *publisher) publish(ctx context.Context, r footfall.Record, a *footfall.Answer) error {
	future, err := p.js.PublishMsgAsync(&nats.Msg{
		Subject: p.cfg.Subject,
		Header:  withKey(nats.Header{jetstream.MsgIDHeader: {r.ID.String()}}, string(r.Key)),
		Data:    r.Body,
	}, p.options...)
	if errors.Is(err, nats.ErrMaxPayload) {
		a.Status = http.StatusRequestEntityTooLarge
		a.Body = fmt.Appendf(a.Body, `{"error":"too_large","message":"NATS accepts messages of at most %d bytes: raise max_payload of the servers","status":413}`, p.nc.MaxPayload())
		return nil
	}
	if err != nil {
		return p.explain(err)
	}
	select {
	case ack := <-future.Ok():
		if ack.Stream != p.cfg.Name {
			return fmt.Errorf("stream: the NATS stream %q acknowledged subject %q, not %q: change Config.Name or Config.Subject", ack.Stream, p.cfg.Subject, p.cfg.Name)
		}
		p.worked()
		a.Status = http.StatusAccepted
		return nil
	case err := <-future.Err():
		p.failed(err)
		return p.explain(err)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// explain explains an error of a publish.
func (p *publisher) explain(err error) error {
	var api *jetstream.APIError
	switch {
	case errors.Is(err, jetstream.ErrNoStreamResponse):
		p.checked.Store(false) // the stream may be deleted
		return fmt.Errorf("stream: no NATS stream answers for %q: it does not exist or has no leader: %w", p.cfg.Subject, err)
	case errors.As(err, &api):
		return fmt.Errorf("stream: NATS does not accept the event: %w", err)
	case errors.Is(err, jetstream.ErrAsyncPublishTimeout):
		err = cmp.Or(p.denied(p.cfg.Subject), err)
	}
	return fmt.Errorf("stream: %w", err)
}

// Close implements footfall.Poster.
func (p *publisher) Close() {
	p.closed.Do(func() {
		p.js.CleanupPublisher()
		p.close()
	})
}
