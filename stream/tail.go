package stream

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Event is an event that a program publishes to the stream.
type Event struct {
	ID   string // its Idempotency-Key; empty if a message is no event
	Body []byte // JSON
}

// Tail calls f for each event that is published from now on, until ctx ends. The relays still
// get all events. Tail makes the next call after f has returned; if f is slow for long, NATS
// drops events for Tail. Tail returns the error of ctx, or says why NATS refuses the connection
// or the subject, or that a Config.Conn is closed.
func Tail(ctx context.Context, cfg Config, f func(Event)) error {
	link, err := open(cfg, "footfall tail")
	if err != nil {
		return err
	}
	defer link.close()
	closed := link.nc.StatusChanged(nats.CLOSED)
	defer link.nc.RemoveStatusListener(closed)
	messages := make(chan *nats.Msg, 1024)
	sub, err := link.nc.ChanSubscribe(link.cfg.Subject, messages)
	if err != nil {
		return fmt.Errorf("stream: %w", err)
	}
	defer func() { _ = sub.Unsubscribe() }() // an error means that the connection is closed
	if err := link.permitted(ctx); err != nil {
		return fmt.Errorf("stream: %w", err)
	}
	for {
		select {
		case <-closed:
			return fmt.Errorf("stream: NATS has closed the connection: %w", cmp.Or(link.nc.LastError(), nats.ErrConnectionClosed))
		case m := <-messages:
			if only := m.Header.Get(jetstream.ExpectedStreamHeader); only != "" && only != link.cfg.Name {
				continue // NATS refuses it: footfall doctor asks whether it may publish
			}
			f(published(m))
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// permitted returns an error if the account may not subscribe to the subject. The server says so
// before it answers a ping.
func (l *link) permitted(ctx context.Context) error {
	if !l.nc.IsConnected() {
		return nil // nats.go subscribes later
	}
	ctx, cancel := context.WithTimeout(ctx, l.cfg.Timeout)
	defer cancel()
	_ = l.nc.FlushWithContext(ctx) // an error means that NATS has gone
	if err := l.nc.LastError(); l.forbidden() && strings.Contains(err.Error(), fmt.Sprintf("Subscription to %q", l.cfg.Subject)) {
		return err
	}
	return nil
}

func published(m *nats.Msg) Event {
	id := eventID(m.Header.Get(jetstream.MsgIDHeader))
	if id != "" {
		id = cmp.Or(string(keyOf(m.Header)), id)
	}
	return Event{ID: id, Body: m.Data}
}
