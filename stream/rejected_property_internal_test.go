package stream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
)

// rejecter is a broker with a second stream, of rejected events. Its publishes take time and fail, also
// after they have stored the message.
type rejecter struct {
	*broker
	healthy atomic.Bool

	mu       sync.Mutex
	rng      *rand.Rand
	rejected map[uint64]rejectedMessage // by position
	newest   uint64
	seen     map[string]bool // Nats-Msg-Ids, of both streams
}

type rejectedMessage struct{ id, key, body string }

func (b *rejecter) chance(percent int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.healthy.Load() && b.rng.IntN(100) < percent
}

func (b *rejecter) pause(limit time.Duration) {
	b.mu.Lock()
	d := time.Duration(b.rng.Int64N(int64(limit)))
	b.mu.Unlock()
	time.Sleep(d)
}

// PublishMsg implements a method of jetstream.JetStream.
func (b *rejecter) PublishMsg(_ context.Context, m *nats.Msg, _ ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	b.pause(100 * time.Millisecond)
	if b.chance(10) {
		return nil, errors.New("no leader")
	}
	b.store(m)
	b.pause(time.Second)
	if b.chance(10) {
		return nil, errors.New("no answer")
	}
	return &jetstream.PubAck{}, nil
}

func (b *rejecter) store(m *nats.Msg) {
	b.mu.Lock()
	msgID := m.Subject + " " + m.Header.Get(jetstream.MsgIDHeader)
	duplicate := b.seen[msgID]
	b.seen[msgID] = true
	b.mu.Unlock()
	switch {
	case duplicate:
	case strings.HasSuffix(m.Subject, ".rejected"):
		b.mu.Lock()
		defer b.mu.Unlock()
		b.newest++
		b.rejected[b.newest] = rejectedMessage{m.Header.Get(idHeader), string(keyOf(m.Header)), string(m.Data)}
	default:
		b.publish(footfall.Record{ID: footfall.EventID(uuid.MustParse(eventID(m.Header.Get(jetstream.MsgIDHeader)))), Key: keyOf(m.Header), Body: m.Data})
	}
}

// retry does what Rejections.Retry does, for one event.
func (b *rejecter) retry(ctx context.Context) {
	b.mu.Lock()
	var seq uint64
	for seq = range b.rejected { // any
		break
	}
	e := b.rejected[seq]
	b.mu.Unlock()
	if e.id == "" {
		return
	}
	m := &nats.Msg{Subject: "footfall.events", Header: withKey(nats.Header{}, e.key), Data: []byte(e.body)}
	m.Header.Set(jetstream.MsgIDHeader, e.id+"."+strconv.FormatUint(seq, 10))
	if _, err := b.PublishMsg(ctx, m); err == nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.rejected, seq)
	}
}

func (b *rejecter) left() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.rejected)
}

// fickle is an API that accepts, rejects and fails at random.
type fickle struct {
	b        *rejecter
	mu       sync.Mutex
	accepted map[footfall.EventID]string // Event.ID
}

func (f *fickle) Post(_ context.Context, r footfall.Record, a *footfall.Answer) error {
	f.b.pause(50 * time.Millisecond)
	switch {
	case f.b.chance(50):
		a.Status = 422
		return nil
	case f.b.chance(20):
		return errors.New("no connection")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.accepted[r.ID] = string(r.Key)
	a.Status = 202
	a.Body = append(a.Body, `{"accepted":true}`...)
	return nil
}

func (f *fickle) Close() {}

// run runs a relay until ctx ends.
func (f *fickle) run(t *testing.T, ctx context.Context) {
	cfg := footfall.Config{BaseURL: "https://api.example.com", APIKey: "key", Logger: slog.New(slog.DiscardHandler), OnRejected: func(*footfall.RejectedError) {}}
	next, err := footfall.NewPostingTransport(cfg, func(footfall.Config) (footfall.Poster, error) { return f, nil })
	require.NoError(t, err)
	link, err := simulatedLink(f.b.broker, Config{}.withDefaults(cfg.Logger))
	require.NoError(t, err)
	link.js = f.b
	rc := RelayConfig{Next: next, AckWait: f.b.ackWait, MaxHeld: 32, StopTimeout: 100 * time.Millisecond}.withDefaults()
	r := newRelay(link, rc)
	assert.NoError(t, r.Run(ctx))
}

// Relays stop and start, the API and the stream of rejected events fail, and an operator retries rejected
// events meanwhile. Each event is accepted in the end.
func TestRejectedEventsAreNeverLost(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { rejectAndRetry(t, seed) })
		})
	}
}

func rejectAndRetry(t *testing.T, seed uint64) {
	var expired atomic.Int64
	b := &rejecter{
		broker: newBroker(30*time.Second, &expired), rng: rand.New(rand.NewPCG(seed, 1)),
		rejected: make(map[uint64]rejectedMessage), seen: make(map[string]bool),
	}
	api := &fickle{b: b, accepted: make(map[footfall.EventID]string)}
	ctx, cancel := context.WithCancel(t.Context())
	var relays sync.WaitGroup
	for range 2 {
		relays.Go(func() {
			for ctx.Err() == nil {
				life, end := context.WithTimeout(ctx, 20*time.Second)
				api.run(t, life)
				end()
			}
		})
	}
	relays.Go(func() {
		for ctx.Err() == nil {
			b.pause(200 * time.Millisecond)
			b.retry(ctx)
		}
	})
	ids := make(map[footfall.EventID]string)
	for i := range 200 {
		id, key := footfall.EventID(uuid.New()), ""
		if i%2 == 0 {
			key = fmt.Sprint("evt_", i%25)
		}
		ids[id] = key
		b.publish(footfall.Record{ID: id, Key: []byte(key), Body: []byte("{}")})
		b.pause(200 * time.Millisecond)
	}
	time.Sleep(time.Minute)
	b.healthy.Store(true)
	time.Sleep(2 * time.Hour) // messages that failed wait
	cancel()
	relays.Wait()
	assert.Equal(t, ids, api.accepted)
	assert.Zero(t, b.left())
	assert.Empty(t, b.messages)
}
