package stream

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
)

// slow is a JetStream that answers each publish after a second.
type slow struct {
	jetstream.JetStream // nil
	err                 atomic.Pointer[error]
	onlyFor             string // the id of the event that err is about; all if empty
	published           atomic.Int64
}

func (s *slow) PublishMsg(_ context.Context, m *nats.Msg, _ ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	s.published.Add(1)
	time.Sleep(time.Second)
	if err := s.err.Load(); err != nil && (s.onlyFor == "" || s.onlyFor == m.Header.Get(idHeader)) {
		return nil, *err
	}
	return &jetstream.PubAck{}, nil
}

func (s *slow) Stream(_ context.Context, name string) (jetstream.Stream, error) {
	return &simulatedStream{name: name, broker: new(broker)}, nil
}

// rejecting returns a relay that holds n rejected events.
func rejecting(t testing.TB, n int, js jetstream.JetStream) *Relay {
	t.Helper()
	l := linkTo(t, js)
	r := &Relay{link: l, feed: newFeed(l, n, time.Second)}
	for range n {
		r.reject(newMessage())
	}
	select {
	case <-r.feed.refused: // the signal of the last one
	default:
	}
	return r
}

// reject gives the relay a message that the API rejects.
func (r *Relay) reject(m *message) {
	r.feed.put([]jetstream.Msg{m}, r.link.origin())
	r.feed.Settle(take(r.feed), footfall.OutcomeRejected, &footfall.APIError{Status: 422})
}

func TestRejectedEventsAreMovedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := rejecting(t, 640, &slow{})
		began := time.Now()
		require.NoError(t, r.moveAll(t.Context(), moveAtOnce))
		assert.Equal(t, 10*time.Second, time.Since(began))
		assert.Equal(t, uint64(640), r.feed.read().Rejected)
		assert.Zero(t, r.feed.read().Held)
	})
}

// While rejected events cannot be moved, one is tried, and the others can be handed back.
func TestOneRejectedEventIsTriedWhenNoneCanBeMoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		js, full := &slow{}, errors.New("full")
		js.err.Store(&full)
		r := rejecting(t, 200, js)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go r.moveRejected(ctx, nil)
		time.Sleep(1500 * time.Millisecond)
		r.reject(newMessage())
		time.Sleep(400 * time.Millisecond)
		assert.Equal(t, int64(moveAtOnce), js.published.Load(), "not for each event")
		time.Sleep(600 * time.Millisecond)
		assert.Equal(t, int64(moveAtOnce+1), js.published.Load())
		for range 150 {
			_, ok := r.feed.unmoved()
			assert.True(t, ok)
		}
		js.err.Store(nil)
		time.Sleep(time.Minute)
		assert.Equal(t, uint64(51), r.feed.read().Rejected)
	})
}

// An event that is retried before its relay knows that it was moved is in the stream twice.
func TestAnEventThatIsRetriedWhileItIsMovedIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := rejecting(t, 0, &slow{})
		first := newMessage()
		first.seq = 5
		again := &message{header: nats.Header{jetstream.MsgIDHeader: {first.header.Get(jetstream.MsgIDHeader) + ".1"}}, seq: 6, delivered: 1}
		r.reject(first)
		go func() { assert.NoError(t, r.moveAll(t.Context(), moveAtOnce)) }()
		time.Sleep(500 * time.Millisecond)
		redelivered := &message{header: first.header, seq: 5, delivered: 2}
		r.feed.put([]jetstream.Msg{redelivered}, r.link.origin())
		r.feed.put([]jetstream.Msg{again}, r.link.origin())
		time.Sleep(time.Second)
		synctest.Wait()
		require.NoError(t, r.feed.acks.send(t.Context()))
		assert.Equal(t, 1, redelivered.acks, "it is among the rejected events")
		assert.Equal(t, []int{0, 1}, []int{again.acks, again.naks}, "nobody has sent it again")
		assert.Equal(t, Stats{Taken: 3, Redelivered: 1, Repeated: 1, Rejected: 1, HandedBack: 1}, r.feed.read())
	})
}

// NATS refuses an event that its headers make too large.
func TestARejectedEventThatCannotBeMovedHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		large, tooLarge := newMessage(), nats.ErrMaxPayload
		js := &slow{onlyFor: large.header.Get(jetstream.MsgIDHeader)}
		js.err.Store(&tooLarge)
		r := rejecting(t, 0, js)
		r.reject(large)
		ctx, cancel := context.WithCancel(t.Context())
		go r.moveRejected(ctx, nil)
		time.Sleep(5 * time.Second)
		for range 3 {
			r.reject(newMessage())
		}
		time.Sleep(10 * time.Second)
		assert.Equal(t, Stats{Taken: 4, Rejected: 3, Held: 1}, r.feed.read())
		cancel()
		time.Sleep(time.Minute)
	})
}
