package stream

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// ackDelay is how long the acknowledgement of an event waits for others. Several at once share a
// request, and cost the relay and the server fewer system calls.
const ackDelay = 10 * time.Millisecond

// acker acknowledges the messages of settled events. A message has a number, and the first one of a
// stream that was deleted and created again has the first number again: an acknowledgement would
// remove another event, which may not be delivered. So the acker asks before it acknowledges whether
// the stream is the one that the messages came from.
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

// born returns when the stream of events was created, as NATS has said last. It is zero if there is
// no stream, or if the account may not read it.
func (l *link) born() time.Time {
	if t := l.created.Load(); t != nil {
		return *t
	}
	return time.Time{}
}

// has reports whether a message came from the stream that exists.
func (l *link) has(it *item) bool { return it.born.Equal(l.born()) }

// note notes what NATS says about the stream of events.
func (l *link) note(info *jetstream.StreamInfo) {
	l.replicas.Store(int64(info.Config.Replicas))
	l.created.Store(&info.Created)
}

// look asks NATS when the stream of events was created, unless the account may not read it.
func (l *link) look(ctx context.Context) error {
	if l.created.Load() == nil {
		return nil
	}
	if !l.nc.IsConnected() {
		return l.away()
	}
	ctx, cancel := context.WithTimeout(ctx, l.cfg.Timeout)
	defer cancel()
	s, err := l.js.Stream(ctx, l.cfg.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		l.created.Store(&time.Time{})
		return nil
	}
	if err == nil {
		l.note(s.CachedInfo())
	}
	return err
}
