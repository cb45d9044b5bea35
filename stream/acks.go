package stream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// ackDelay is how long the acknowledgement of an event waits for others. Several at once share a
// request, and cost the relay and the server fewer system calls.
const ackDelay = 10 * time.Millisecond

// acker acknowledges the messages of settled events. An acknowledgement names the number of a message
// in its stream, and another message may get it: the stream is deleted and created again, or its server
// loses the last messages in a power cut. The acknowledgement would remove that one, which may not be
// delivered. So the acker asks first whether the stream is the one that the messages came from, and
// leaves those out that came over an earlier connection: AckWait redelivers them.
type acker struct {
	link    *link
	timer   *time.Timer // calls send
	sending sync.Mutex  // held by send, before mu

	mu      sync.Mutex
	waiting []*item
	closed  bool
}

func newAcker(l *link) *acker {
	a := &acker{link: l}
	a.timer = time.AfterFunc(time.Hour, func() {
		if a.send(context.Background()) != nil {
			a.sendIn(time.Second)
		}
	})
	a.timer.Stop()
	return a
}

// sendIn calls send after a while.
func (a *acker) sendIn(d time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.closed {
		a.timer.Reset(d)
	}
}

// add adds the message of an event that is settled.
func (a *acker) add(it *item) {
	a.mu.Lock()
	a.waiting = append(a.waiting, it)
	first := len(a.waiting) == 1
	a.mu.Unlock()
	if first {
		a.sendIn(ackDelay)
	}
}

// close acknowledges the messages that wait, once no more are added.
func (a *acker) close(ctx context.Context) error {
	a.mu.Lock()
	a.closed = true
	a.timer.Stop()
	a.mu.Unlock()
	return a.send(ctx)
}

// send acknowledges the messages that wait. If NATS does not say whether the stream is still the
// one that they came from, they wait for the next call.
func (a *acker) send(ctx context.Context) error {
	a.sending.Lock()
	defer a.sending.Unlock()
	a.mu.Lock()
	items := a.waiting
	a.waiting = nil
	a.mu.Unlock()
	if len(items) == 0 {
		return nil
	}
	if err := a.link.look(ctx); err != nil {
		a.mu.Lock()
		a.waiting = append(items, a.waiting...)
		a.mu.Unlock()
		return err
	}
	for _, it := range items {
		if a.link.has(it) {
			_ = it.msg.Ack() // otherwise AckWait redelivers it, and the API counts it once
		}
	}
	return nil
}

// origin is where messages came from.
type origin struct {
	born       int64  // when the stream was created, in nanoseconds; 0 if there is none, or the account may not read it
	connection uint64 // number of the connection to NATS
}

// origin returns where a message comes from now, as far as NATS has said.
func (l *link) origin() origin { return origin{l.created.Load(), l.nc.Stats().Reconnects} }

// has reports whether a message came from the stream that exists, over this connection.
func (l *link) has(it *item) bool { return it.from == l.origin() }

// note notes what NATS says about the stream of events.
func (l *link) note(info *jetstream.StreamInfo) {
	l.replicas.Store(int64(info.Config.Replicas))
	l.created.Store(info.Created.UnixNano())
}

// look asks NATS when the stream of events was created. The error is final if the account may not read it.
func (l *link) look(ctx context.Context) error {
	if !l.nc.IsConnected() {
		return l.away()
	}
	ctx, cancel := context.WithTimeout(ctx, l.cfg.Timeout)
	defer cancel()
	s, err := l.js.Stream(ctx, l.cfg.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		l.created.Store(0)
		return nil
	}
	if err == nil {
		l.note(s.CachedInfo())
		return nil
	}
	return cmp.Or(l.ackDenied(streamInfo+l.cfg.Name), l.refused(streamInfo, l.cfg.Name, err))
}

// ackDenied returns an error if the last one of NATS says that the user may not publish to subjects. NATS does
// not answer such a request.
func (l *link) ackDenied(subjects string) error {
	err := l.nc.LastError()
	text, open := strings.CutSuffix(`"`+subjects, ">")
	if !open {
		text += `"`
	}
	if !l.forbidden() || !strings.Contains(err.Error(), text) {
		return nil
	}
	return fmt.Errorf("%w, and NATS would deliver them again and again: %w: give its user permission to publish to %q", ErrAckDenied, err, subjects)
}

// ErrAckDenied is wrapped by the error of a [Relay] whose user may not acknowledge events, or may not
// read the stream, without which a relay would acknowledge events that it has not delivered.
var ErrAckDenied = errors.New("stream: the relay may not acknowledge events")

const ackSubjects = ackPrefix + ">"
