package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/footfall-dev/footfall/cmd/footfall/internal/natsconn"
)

// denials notices what the user may not do. NATS does not answer such a request: it reports an error
// of the connection.
type denials struct {
	mu     sync.Mutex
	cancel context.CancelCauseFunc // of the request that waits
}

// handle is the ErrorHandler of the connections.
func (d *denials) handle(_ *nats.Conn, _ *nats.Subscription, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.cancel != nil && isDenied(err) {
		d.cancel(err)
	}
}

// during makes a request, and returns the error of NATS if it is denied.
func (d *denials) during(ctx context.Context, request func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	d.mu.Lock()
	d.cancel = cancel
	d.mu.Unlock()
	err := request(ctx)
	if denied := context.Cause(ctx); err != nil && isDenied(denied) {
		return errors.Join(err, denied)
	}
	return err
}

func isDenied(err error) bool { return errors.Is(err, nats.ErrPermissionViolation) }

// try is a message that shows whether the user may publish to a subject, and does nothing else.
type try struct {
	subject string
	header  nats.Header
	data    string
	lost    string // what does not work without the permission
}

const (
	// nameless creates nothing, because NATS refuses a request for another stream than the one of its
	// subject. It is JSON, because NATS logs a warning about a request that is not.
	nameless = "{}"

	// broken takes no event, because it is not JSON. NATS logs nothing about it. Any valid request would
	// take events.
	broken = "{"
)

// tries returns what the settings need. NATS refuses an event for another stream than the one that it
// names. An extension of position 0 is about no event.
func (x *NATSExam) tries() []try {
	cfg := x.Stream
	elsewhere := nats.Header{jetstream.ExpectedStreamHeader: {"none"}}
	if x.use == publishes {
		return []try{{cfg.Subject, elsewhere, "", "programs cannot publish events"}}
	}
	return []try{
		{"$JS.API.CONSUMER.CREATE." + cfg.Name + "." + x.Consumer, nil, nameless, "relays cannot take events"},
		{"$JS.API.CONSUMER.MSG.NEXT." + cfg.Name + "." + x.Consumer, nil, broken, "relays cannot take events"},
		{"$JS.ACK." + cfg.Name + "." + x.Consumer + ".1.0.0.0.0", nil, "+WPI", "relays cannot acknowledge events and stop"},
		{cfg.Subject + ".rejected", elsewhere, "", "relays cannot move events that the API rejects"},
	}
}

// permissions reports what the user may not do.
func (x *NATSExam) permissions(ctx context.Context, nc *nats.Conn) {
	denied := false
	for _, t := range x.tries() {
		if err := permitted(ctx, nc, t); err != nil {
			denied = true
			found, remedy := x.Servers.Diagnose(err)
			x.add("permission", Bad, t.lost+": "+found, remedy)
		}
	}
	switch {
	case denied:
	case x.use == publishes:
		x.add("permission", Good, "the user may publish to "+x.Stream.Subject, "")
	default:
		x.add("permission", Good, "the user may take, acknowledge and move events", "")
	}
}

// permitted returns an error of NATS if the user may not publish to the subject. The server says so
// before it answers a ping.
func permitted(ctx context.Context, nc *nats.Conn, t try) error {
	ctx, cancel := context.WithTimeout(ctx, natsconn.Timeout)
	defer cancel()
	m := &nats.Msg{Subject: t.subject, Reply: nc.NewInbox(), Header: t.header, Data: []byte(t.data)}
	if err := nc.PublishMsg(m); err != nil {
		return err
	}
	if err := nc.FlushWithContext(ctx); err != nil {
		return err
	}
	if err := nc.LastError(); isDenied(err) && strings.Contains(err.Error(), fmt.Sprintf("Publish to %q", t.subject)) {
		return err
	}
	return nil
}
