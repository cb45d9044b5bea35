package stream

import (
	"bufio"
	"cmp"
	"context"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/footfall-dev/footfall"
)

// broker is a work-queue stream with one consumer, in memory and in fake time.
type broker struct {
	jetstream.JetStream // nil
	ackWait             time.Duration
	maxAckPending       int

	mu       sync.Mutex
	messages []*stored // not acknowledged, oldest first
	last     uint64    // position of the newest message
	changed  chan struct{}
	expired  *atomic.Int64 // messages whose AckWait was over
}

// stored is a message of a broker.
type stored struct {
	broker    *broker
	seq       uint64
	rec       footfall.Record
	delivered uint64
	due       time.Time // when it may be delivered
	held      bool      // by the relay
}

func newBroker(ackWait time.Duration, expired *atomic.Int64) *broker {
	return &broker{ackWait: ackWait, changed: make(chan struct{}), expired: expired}
}

func (b *broker) publish(r footfall.Record) {
	b.change(func() {
		b.last++
		b.messages = append(b.messages, &stored{broker: b, seq: b.last, rec: r})
	})
}

// change wakes Fetch.
func (b *broker) change(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f()
	close(b.changed)
	b.changed = make(chan struct{})
}

// Stream implements a method of jetstream.JetStream.
func (b *broker) Stream(_ context.Context, name string) (jetstream.Stream, error) {
	return &simulatedStream{name: name, broker: b}, nil
}

// CreateOrUpdateConsumer implements a method of jetstream.JetStream.
func (b *broker) CreateOrUpdateConsumer(_ context.Context, _ string, c jetstream.ConsumerConfig) (jetstream.Consumer, error) {
	b.change(func() { b.maxAckPending = c.MaxAckPending })
	return &simulatedConsumer{broker: b}, nil
}

// PublishMsg implements a method of jetstream.JetStream, for rejected events.
func (b *broker) PublishMsg(context.Context, *nats.Msg, ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	return &jetstream.PubAck{}, nil
}

// simulatedStream has the settings of the zero Config.
type simulatedStream struct {
	jetstream.Stream // nil
	name             string
	broker           *broker
}

func (s *simulatedStream) CachedInfo() *jetstream.StreamInfo {
	cfg := Config{}.withDefaults(nil)
	if s.name == cfg.Name {
		s.broker.mu.Lock()
		defer s.broker.mu.Unlock()
		return &jetstream.StreamInfo{Config: cfg.wanted(), State: jetstream.StreamState{LastSeq: s.broker.last}}
	}
	return &jetstream.StreamInfo{Config: cfg.wantedRejected()}
}

// GetMsg implements a method of jetstream.Stream.
func (s *simulatedStream) GetMsg(_ context.Context, seq uint64, _ ...jetstream.GetMsgOpt) (*jetstream.RawStreamMsg, error) {
	s.broker.mu.Lock()
	defer s.broker.mu.Unlock()
	i, found := slices.BinarySearchFunc(s.broker.messages, seq, func(m *stored, seq uint64) int { return cmp.Compare(m.seq, seq) })
	if !found {
		return nil, jetstream.ErrMsgNotFound
	}
	return &jetstream.RawStreamMsg{Sequence: seq, Data: s.broker.messages[i].rec.Body}, nil
}

type simulatedConsumer struct {
	jetstream.Consumer // nil
	broker             *broker
}

// CachedInfo implements a method of jetstream.Consumer.
func (c *simulatedConsumer) CachedInfo() *jetstream.ConsumerInfo { return &jetstream.ConsumerInfo{} }

// Fetch implements a method of jetstream.Consumer. It waits for fetchWait.
func (c *simulatedConsumer) Fetch(n int, _ ...jetstream.FetchOpt) (jetstream.MessageBatch, error) {
	b := make(batch, n)
	go func() {
		defer close(b)
		over := time.After(fetchWait)
		for n > 0 {
			taken, next, changed := c.broker.take(n)
			for _, m := range taken {
				b <- &delivery{stored: m, n: m.delivered}
			}
			n -= len(taken)
			select {
			case <-changed:
			case <-time.After(next):
			case <-over:
				return
			}
		}
	}()
	return b, nil
}

// take delivers up to n messages that are due. It also returns when the next one is due, and a
// channel that is closed when that changes.
func (b *broker) take(n int) (taken []*stored, next time.Duration, changed <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now, next := time.Now(), time.Hour
	pending := 0 // those that were returned, too
	for _, m := range b.messages {
		pending += min(1, int(m.delivered))
	}
	for _, m := range b.messages {
		if m.delivered == 0 {
			if pending >= b.maxAckPending {
				break // all others are newer
			}
			pending++
		}
		if m.due.After(now) || len(taken) == n {
			next = min(next, max(m.due.Sub(now), time.Millisecond))
			continue
		}
		if m.held {
			b.expired.Add(1)
		}
		m.delivered++
		m.held, m.due = true, now.Add(b.ackWait)
		taken = append(taken, m)
	}
	return taken, next, b.changed
}

type batch chan jetstream.Msg

func (b batch) Messages() <-chan jetstream.Msg { return b }
func (b batch) Error() error                   { return nil }

// delivery is a delivery of a message.
type delivery struct {
	jetstream.Msg // nil
	*stored
	n uint64
}

func (d *delivery) Headers() nats.Header {
	return withKey(nats.Header{jetstream.MsgIDHeader: {d.rec.ID.String()}}, string(d.rec.Key))
}

func (d *delivery) Data() []byte { return d.rec.Body }

func (d *delivery) Metadata() (*jetstream.MsgMetadata, error) {
	return &jetstream.MsgMetadata{Sequence: jetstream.SequencePair{Stream: d.seq}, NumDelivered: d.n}, nil
}

// Reply is a subject that the server of pings answers.
func (d *delivery) Reply() string { return ackPrefix + "simulated" }

func (d *delivery) Ack() error {
	b := d.broker
	b.change(func() {
		for i, m := range b.messages {
			if m == d.stored {
				b.messages = append(b.messages[:i:i], b.messages[i+1:]...)
				return
			}
		}
	})
	return nil
}

func (d *delivery) Nak() error { return d.NakWithDelay(0) }

func (d *delivery) NakWithDelay(after time.Duration) error {
	d.broker.change(func() { d.held, d.due = false, time.Now().Add(after) })
	return nil
}

func (d *delivery) InProgress() error {
	d.broker.change(func() { d.due = time.Now().Add(d.broker.ackWait) })
	return nil
}

// simulatedLink returns a link to a broker. Its connection is one to a server that only answers
// pings and requests.
func simulatedLink(b *broker, cfg Config) (*link, error) {
	nc, err := nats.Connect("nats://127.0.0.1", nats.SetCustomDialer(pings{}), nats.NoReconnect(), nats.PingInterval(1000*time.Hour))
	if err != nil {
		return nil, err
	}
	// The first request of JetStream starts a goroutine, which receives the answers to all.
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if _, err := nc.RequestWithContext(ctx, "any", nil); err != nil {
		return nil, err
	}
	return &link{cfg: cfg, log: cfg.Logger, nc: nc, js: b}, nil
}

type pings struct{}

// Dial implements nats.CustomDialer.
func (pings) Dial(string, string) (net.Conn, error) {
	client, server := net.Pipe()
	go func() {
		defer server.Close()
		if _, err := server.Write([]byte("INFO {\"headers\":true,\"max_payload\":1048576}\r\n")); err != nil {
			return
		}
		inbox := "" // the number of its subscription
		for lines := bufio.NewScanner(server); lines.Scan(); {
			answer := ""
			switch words := strings.Fields(lines.Text()); {
			case len(words) == 0:
			case words[0] == "PING":
				answer = "PONG\r\n"
			case words[0] == "SUB":
				inbox = words[2]
			case words[0] == "PUB" && len(words) == 4:
				answer = "MSG " + words[2] + " " + inbox + " 0\r\n\r\n"
			}
			if answer == "" {
				continue
			}
			if _, err := server.Write([]byte(answer)); err != nil {
				return
			}
		}
	}()
	return client, nil
}
