package stream

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
)

// deleted is a JetStream whose stream may be deleted and created again.
type deleted struct {
	jetstream.JetStream // nil
	born                time.Time
	err                 atomic.Pointer[error]
}

func (d *deleted) Stream(context.Context, string) (jetstream.Stream, error) {
	if err := d.err.Load(); err != nil {
		return nil, *err
	}
	return &bornStream{born: d.born}, nil
}

// linkTo returns a link to the streams of js.
func linkTo(t testing.TB, js jetstream.JetStream) *link {
	t.Helper()
	l, err := simulatedLink(nil, Config{}.withDefaults(slog.New(slog.DiscardHandler)))
	require.NoError(t, err)
	t.Cleanup(l.nc.Close)
	l.js = js
	require.NoError(t, l.look(t.Context()))
	return l
}

type bornStream struct {
	jetstream.Stream // nil
	born             time.Time
}

func (s *bornStream) CachedInfo() *jetstream.StreamInfo {
	return &jetstream.StreamInfo{Created: s.born}
}

func TestAMessageIsAnsweredOnlyInTheStreamThatItCameFrom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		js := &deleted{born: time.Now()}
		l := linkTo(t, js)
		f := newFeed(l, 10, time.Second)
		settled, failing, another := newMessage(), newMessage(), newMessage()
		f.put([]jetstream.Msg{settled, failing}, l.origin())
		records := take(f)
		f.Settle(records[:1], footfall.OutcomeDelivered, nil)
		js.born = js.born.Add(time.Second)
		f.put([]jetstream.Msg{another}, origin{born: js.born.UnixNano()})
		require.NoError(t, f.acks.send(t.Context()))
		f.extend()
		f.handBack(records[1].ID, jetstream.Msg.Nak)
		f.Settle(take(f), footfall.OutcomeDelivered, nil)
		require.NoError(t, f.acks.send(t.Context()))
		assert.Equal(t, []int{0, 0, 1}, []int{settled.acks, failing.naks, another.acks})
		assert.Equal(t, []int{0, 1}, []int{failing.extended, another.extended})
		assert.Equal(t, Stats{Taken: 3, Delivered: 2, HandedBack: 1}, f.read())
	})
}

// A server that was set back gives the numbers of the messages that it has lost to others.
func TestAMessageIsAnsweredOnlyOverTheConnectionThatItCameOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		js := &deleted{born: time.Now()}
		l := linkTo(t, js)
		f := newFeed(l, 10, time.Second)
		before, after := newMessage(), newMessage()
		f.put([]jetstream.Msg{before}, l.origin())
		l.nc.Reconnects++
		f.put([]jetstream.Msg{after}, l.origin())
		f.Settle(take(f), footfall.OutcomeDelivered, nil)
		require.NoError(t, f.acks.send(t.Context()))
		assert.Equal(t, []int{0, 1}, []int{before.acks, after.acks})
		f.put([]jetstream.Msg{before}, l.origin())
		f.Settle(take(f), footfall.OutcomeDelivered, nil)
		require.NoError(t, f.acks.send(t.Context()))
		assert.Equal(t, 1, before.acks, "redelivered")
	})
}

func TestAcknowledgementsWaitUntilNATSKnowsTheStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		js, noLeader := &deleted{born: time.Now()}, errors.New("no leader")
		l := linkTo(t, js)
		js.err.Store(&noLeader)
		f, m := newFeed(l, 10, time.Second), newMessage()
		f.put([]jetstream.Msg{m}, l.origin())
		f.Settle(take(f), footfall.OutcomeDelivered, nil)
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Equal(t, 1, waitingAcks(f))
		js.err.Store(nil)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		assert.Equal(t, 1, m.acks)
	})
}
