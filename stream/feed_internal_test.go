package stream

import (
	"errors"
	"math/rand/v2"
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

// message is a message of a consumer that counts its answers.
type message struct {
	jetstream.Msg // nil
	header        nats.Header
	seq           uint64
	delivered     uint64
	acks, naks    int
	extended      int
	delay         time.Duration
}

func newMessage() *message {
	return &message{header: nats.Header{jetstream.MsgIDHeader: {uuid.NewString()}}, delivered: 1}
}

func (m *message) Headers() nats.Header { return m.header }
func (m *message) Data() []byte         { return []byte("{}") }
func (m *message) Ack() error           { m.acks++; return nil }
func (m *message) Nak() error           { m.naks++; return nil }
func (m *message) InProgress() error    { m.extended++; return nil }

func (m *message) NakWithDelay(d time.Duration) error {
	m.naks++
	m.delay = d
	return nil
}

func (m *message) Metadata() (*jetstream.MsgMetadata, error) {
	return &jetstream.MsgMetadata{Timestamp: time.Unix(int64(m.seq), 0), NumDelivered: m.delivered}, nil
}

// take takes every waiting record.
func take(f *feed) []footfall.Record {
	records := make([]footfall.Record, 10)
	return records[:f.Take(records)]
}

func TestARedeliveryOfAHeldMessageIsNotSentAgain(t *testing.T) {
	f, first := newFeed(linkTo(t, &deleted{}), 10, time.Second), newMessage()
	again := &message{header: first.header, delivered: 2}
	f.put([]jetstream.Msg{first}, f.acks.link.origin())
	records := take(f)
	require.Len(t, records, 1)
	f.put([]jetstream.Msg{again}, f.acks.link.origin())
	assert.Empty(t, take(f))
	f.Settle(records, footfall.OutcomeDelivered, nil)
	require.NoError(t, f.acks.send(t.Context()))
	assert.Equal(t, []int{0, 1}, []int{first.acks, again.acks}, "the newest delivery is acknowledged")
	assert.Equal(t, Stats{Taken: 2, Redelivered: 1, Repeated: 1, Delivered: 1}, f.read())
	f.Settle(records, footfall.OutcomeDelivered, nil)
	assert.Equal(t, uint64(1), f.read().Delivered, "once")
}

func TestCloseHandsBackAtOnceWhatIsNotInFlight(t *testing.T) {
	f := newFeed(linkTo(t, &deleted{}), 10, time.Second)
	inFlight, delayed, waiting, late := newMessage(), newMessage(), newMessage(), newMessage()
	f.put([]jetstream.Msg{inFlight, delayed}, f.acks.link.origin())
	records := take(f)
	f.src.Retry(records[1], time.Hour, errors.New("away"))
	f.put([]jetstream.Msg{waiting}, f.acks.link.origin())
	f.close()
	f.put([]jetstream.Msg{late}, f.acks.link.origin())
	assert.Equal(t, []int{0, 0, 0, 0}, []int{inFlight.naks, delayed.naks, waiting.naks, late.naks}, "the last request would take them again")
	f.end()
	assert.Equal(t, []int{0, 1, 1, 1}, []int{inFlight.naks, delayed.naks, waiting.naks, late.naks})
	n, more := f.Waiting()
	assert.Equal(t, []any{0, false}, []any{n, more})
	f.src.Retry(records[0], 0, errors.New("away"))
	assert.Equal(t, 1, inFlight.naks, "it fails while the relay stops")
	assert.Equal(t, []uint64{4, 4}, []uint64{f.read().Taken, f.read().HandedBack})
	assert.Zero(t, f.read().Held)
}

// Every delivery that a relay has taken is in one of the other counts.
func TestTheAccountOfARelayIsComplete(t *testing.T) {
	f := newFeed(linkTo(t, &deleted{}), 100, time.Second)
	r := rand.New(rand.NewPCG(1, 2))
	var sent []*message
	for range 2000 {
		switch records := take(f); {
		case len(records) > 0 && r.IntN(3) == 0:
			f.Settle(records[:1], footfall.Outcome(r.IntN(4)), errors.New("refused"))
			for i := range records[1:] {
				f.src.Retry(records[1+i], time.Duration(r.IntN(2))*time.Hour, errors.New("away"))
			}
		case len(sent) > 0 && r.IntN(2) == 0:
			first, again := sent[r.IntN(len(sent))], newMessage()
			again.header, again.seq, again.delivered = first.header, first.seq, first.delivered+1
			f.put([]jetstream.Msg{again}, f.acks.link.origin())
		default:
			m := newMessage()
			m.seq = uint64(len(sent) + 1)
			sent = append(sent, m)
			f.put([]jetstream.Msg{m}, f.acks.link.origin())
		}
		for _, it := range f.takeRejected(2) {
			f.moved(it)
		}
		s := f.read()
		require.Equal(t, s.Taken, s.Delivered+s.Rejected+s.HandedBack+s.Repeated+uint64(s.Held), "%+v", s)
	}
	f.close()
	f.end()
	f.abandon()
	s := f.read()
	assert.Equal(t, s.Taken, s.Delivered+s.Rejected+s.HandedBack+s.Repeated)
	assert.NotZero(t, s.Repeated)
	assert.NotZero(t, s.Rejected)
	assert.NotZero(t, s.HandedBack)
}

// waitingAcks returns how many messages wait to be acknowledged.
func waitingAcks(f *feed) int {
	f.acks.mu.Lock()
	defer f.acks.mu.Unlock()
	return len(f.acks.waiting)
}

func TestMessagesAreAcknowledgedTogetherAndSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, first, second := newFeed(linkTo(t, &deleted{}), 10, time.Second), newMessage(), newMessage()
		f.put([]jetstream.Msg{first, second}, f.acks.link.origin())
		records := take(f)
		f.Settle(records[:1], footfall.OutcomeDelivered, nil)
		time.Sleep(ackDelay / 2)
		f.Settle(records[1:], footfall.OutcomeDelivered, nil)
		synctest.Wait()
		assert.Equal(t, 2, waitingAcks(f))
		time.Sleep(ackDelay / 2)
		synctest.Wait()
		assert.Equal(t, []int{1, 1}, []int{first.acks, second.acks})
	})
}

func TestAMessageThatKeepsFailingIsReturnedForLonger(t *testing.T) {
	f := newFeed(linkTo(t, &deleted{}), 10, 30*time.Second)
	for delivered, want := range map[uint64]time.Duration{
		1: 30 * time.Second, 2: time.Minute, 3: 2 * time.Minute, 7: 32 * time.Minute, 1000: 32 * time.Minute,
	} {
		m := newMessage()
		m.delivered = delivered
		require.NoError(t, f.returnFor(m, mostDoublings, 0))
		assert.Equal(t, want, m.delay, delivered)
		require.NoError(t, f.returnFor(m, fewDoublings, 0))
		assert.Equal(t, min(want, 2*time.Minute), m.delay, "while the API accepts nothing")
	}
}

func TestAMessageIsReturnedForTheTimeThatTheAPIHasAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, soon, late := newFeed(linkTo(t, &deleted{}), 2, time.Second), newMessage(), newMessage()
		f.put([]jetstream.Msg{soon, late}, f.acks.link.origin())
		records := take(f)
		f.src.Retry(records[0], time.Millisecond, errors.New("503"))
		f.src.Retry(records[1], 5*time.Minute, errors.New("503 with Retry-After"))
		time.Sleep(time.Minute)
		f.pending = 2
		assert.Equal(t, 2, f.makeRoom(2, true))
		assert.Equal(t, []time.Duration{time.Second, 4 * time.Minute}, []time.Duration{soon.delay, late.delay})
		f.src.Close()
		time.Sleep(time.Hour)
	})
}

func TestOnlyAnIDOfAnEventIsOne(t *testing.T) {
	id := uuid.NewString()
	for text, ok := range map[string]bool{
		id: true, id + ".17": true, "": false, "17": false, id + "17": false, "urn:uuid:" + id: false, "{" + id + "}": false,
	} {
		_, err := idOf(&message{header: nats.Header{jetstream.MsgIDHeader: {text}}})
		assert.Equal(t, ok, err == nil, text)
	}
}
