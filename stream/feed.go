package stream

import (
	"cmp"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/internal/retry"
	"github.com/footfall-dev/footfall/internal/window"
	"github.com/footfall-dev/footfall/internal/wire"
)

// feed is the footfall.Store of a relay: the messages that it has taken. Messages are
// acknowledged, extended and returned without the lock.
type feed struct {
	src     *footfall.Source
	maxHeld int           // messages that the relay holds
	retry   time.Duration // before a message that fails is redelivered, if there is no room
	changed chan struct{} // of capacity 1: there is room
	refused chan struct{} // of capacity 1: there is a rejected event
	acks    *acker

	mu       sync.Mutex
	items    map[footfall.EventID]*item
	waiting  window.Window[*item]
	rejected []*item
	stuck    bool   // rejected events cannot be moved
	pending  uint64 // messages that no relay had when the last one was delivered
	last     uint64 // position of the newest message that was delivered, of the stream born then
	born     int64
	closed   bool
	ended    bool // no more messages are put
	stats    Stats
	late     []jetstream.Msg // to return once ended
}

// item is a message that the relay holds.
type item struct {
	rec  footfall.Record
	msg  jetstream.Msg // the newest delivery
	from origin        // of that delivery
	at   time.Time     // when the stream stored the message
	err  error         // why the API rejected it

	named bool // in the log, because it cannot be moved; of moveRejected
}

var _ footfall.Store = (*feed)(nil)

func newFeed(l *link, maxHeld int, retry time.Duration) *feed {
	f := &feed{maxHeld: maxHeld, retry: retry, changed: make(chan struct{}, 1), refused: make(chan struct{}, 1), acks: newAcker(l), items: make(map[footfall.EventID]*item)}
	f.src = footfall.NewSource(f)
	return f
}

// signal wakes the goroutine that receives from c.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default: // it has not looked since the last one
	}
}

// room returns how many messages the relay may fetch, and whether all that it holds have failed, must
// wait or are in flight.
func (f *feed) room() (free int, stuck bool) {
	due, _ := f.src.Waiting()
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.maxHeld - len(f.items), due == 0
}

// makeRoom returns messages to the stream, and rejected ones that cannot be moved, so that they do not
// delay the others that wait there. It makes room for least messages, or for one if there were no
// others when the last one was delivered. It returns how many messages may be fetched. out says that the API accepts
// nothing: the messages are returned for a short time then, because all are due when it is back.
func (f *feed) makeRoom(least int, out bool) (free int) {
	most := mostDoublings
	if out {
		most = fewDoublings
	}
	f.mu.Lock()
	free = f.maxHeld - len(f.items)
	if f.pending == 0 {
		least = 1
	}
	f.mu.Unlock()
	for ; free < least; free++ {
		r, due, ok := f.src.Reclaim()
		if !ok {
			r, ok = f.unmoved()
		}
		if !ok {
			break
		}
		f.handBack(r.ID, func(m jetstream.Msg) error { return f.returnFor(m, most, time.Until(due)) })
	}
	return free
}

// newest returns the position of the newest message that was delivered.
func (f *feed) newest() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last
}

// kinds returns the kinds of the events that the relay holds.
func (f *feed) kinds() map[retry.Kind]bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	kinds := make(map[retry.Kind]bool)
	for _, it := range f.items {
		kinds[retry.NewKind(wire.SiteAndName(it.rec.Body))] = true
	}
	return kinds
}

// unmoved takes the last rejected event, if rejected events cannot be moved.
func (f *feed) unmoved() (r footfall.Record, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	last := len(f.rejected) - 1
	if !f.stuck || last < 0 {
		return r, false
	}
	r = f.rejected[last].rec
	f.rejected = f.rejected[:last]
	return r, true
}

// Doublings of the wait of a message that is returned again and again.
const (
	mostDoublings = 6
	fewDoublings  = 2
)

// returnFor returns a message that fails to the stream for retry, each time for twice as long up to most doublings, and
// for at least a time. A message that is due again precedes those that no relay has tried.
func (f *feed) returnFor(m jetstream.Msg, most int, least time.Duration) error {
	doublings := 0
	if meta, err := m.Metadata(); err == nil {
		doublings = min(int(max(meta.NumDelivered, 1)-1), most)
	}
	return m.NakWithDelay(max(f.retry<<doublings, least))
}

// handBack removes a message, and returns it to the stream with nak.
func (f *feed) handBack(id footfall.EventID, nak func(jetstream.Msg) error) {
	f.mu.Lock()
	it := f.items[id]
	delete(f.items, id)
	if it != nil {
		f.stats.HandedBack++
		if f.closed && !f.ended {
			f.late = append(f.late, it.msg)
			it = nil
		}
	}
	f.mu.Unlock()
	if it != nil && f.acks.link.has(it) {
		_ = nak(it.msg) // otherwise AckWait returns it
	}
}

// end returns the messages that wait for the end of the last request for messages. That request
// would take them again.
func (f *feed) end() {
	f.mu.Lock()
	f.ended = true
	late := f.late
	f.late = nil
	f.mu.Unlock()
	for _, m := range late {
		_ = m.Nak() // otherwise AckWait returns it
	}
}

// put adds messages. A message that the relay holds already is a redelivery and is not sent again. Another message of an event that it holds is one that Rejections.Retry has put into the
// stream: it waits there until the first one is settled.
func (f *feed) put(messages []jetstream.Msg, from origin) {
	var others []jetstream.Msg
	f.mu.Lock()
	for _, m := range messages {
		if !f.add(m, from) {
			others = append(others, m)
		}
	}
	if f.closed {
		f.late, others = append(f.late, others...), nil
	}
	f.mu.Unlock()
	for _, m := range others {
		_ = f.returnFor(m, mostDoublings, 0) // otherwise AckWait returns it
	}
	f.src.Wake()
}

// add adds a message, unless the relay stops or holds another one of the same event. It is called
// with the lock held.
func (f *feed) add(m jetstream.Msg, from origin) bool {
	f.stats.Taken++
	if f.closed {
		f.stats.HandedBack++
		return false
	}
	var at time.Time
	if meta, err := m.Metadata(); err == nil {
		at = meta.Timestamp
		if f.born != from.born {
			f.born, f.last = from.born, 0
		}
		f.pending, f.last = meta.NumPending, max(f.last, meta.Sequence.Stream)
		if meta.NumDelivered > 1 {
			f.stats.Redelivered++
		}
	}
	id, err := idOf(m)
	it := f.items[id]
	switch {
	case it != nil && it.at.Equal(at):
		it.msg, it.from = m, from
		f.stats.Repeated++
		return true
	case it != nil:
		f.stats.HandedBack++
		return false
	}
	it = &item{rec: footfall.Record{ID: id, Key: keyOf(m.Headers()), Body: m.Data()}, msg: m, from: from, at: at, err: err}
	f.items[id] = it
	if err != nil {
		f.rejected = append(f.rejected, it)
		signal(f.refused)
		return true
	}
	f.waiting.Add(it, len(it.rec.Key)+len(it.rec.Body))
	return true
}

// errNoID is the reason why a message is rejected that no tracker has published.
var errNoID = errors.New("stream: Nats-Msg-Id of the message is not the id of an event")

// idOf returns the id of an event, and a random one for another message.
func idOf(m jetstream.Msg) (footfall.EventID, error) {
	if text := cmp.Or(eventID(m.Headers().Get(jetstream.MsgIDHeader)), eventID(m.Headers().Get(idHeader))); text != "" {
		return footfall.EventID(uuid.MustParse(text)), nil // eventID has parsed it
	}
	return footfall.EventID(uuid.New()), errNoID
}

// eventID returns the id of an event in a Nats-Msg-Id, or "".
func eventID(text string) string {
	if len(text) > idLength && text[idLength] == '.' { // of Rejections.Retry
		text = text[:idLength]
	}
	if _, err := uuid.Parse(text); err != nil || len(text) != idLength {
		return ""
	}
	return text
}

// idLength is the length of a UUID as text.
const idLength = 36

// Waiting implements footfall.Store.
func (f *feed) Waiting() (n int, more bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.waiting.Len(), !f.closed
}

// Take implements footfall.Store.
func (f *feed) Take(dst []footfall.Record) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for ; n < len(dst); n++ {
		it, ok := f.waiting.TakeOldest()
		if !ok {
			break
		}
		dst[n] = it.rec
	}
	return n
}

// Retry implements footfall.Store. While the relay stops, it returns the event to the stream.
func (f *feed) Retry(r footfall.Record, _ error) (kept footfall.Record, ok bool) {
	f.mu.Lock()
	closed, it := f.closed, f.items[r.ID]
	f.mu.Unlock()
	if closed && it != nil {
		f.handBack(r.ID, jetstream.Msg.Nak)
	}
	return r, it != nil && !closed
}

// Settle implements footfall.Store.
func (f *feed) Settle(records []footfall.Record, o footfall.Outcome, err error) {
	for i := range records {
		id := records[i].ID
		switch o {
		case footfall.OutcomeLost:
			f.handBack(id, jetstream.Msg.Nak)
		case footfall.OutcomeRejected:
			f.reject(id, err)
		default:
			f.ack(id, &f.stats.Delivered)
		}
	}
	signal(f.changed)
}

// ack acknowledges a message and counts it.
func (f *feed) ack(id footfall.EventID, count *uint64) {
	f.mu.Lock()
	it := f.items[id]
	delete(f.items, id)
	if it != nil {
		*count++
	}
	f.mu.Unlock()
	if it != nil {
		f.acks.add(it)
	}
}

// reject queues an event for the stream of rejected events.
func (f *feed) reject(id footfall.EventID, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if it := f.items[id]; it != nil {
		it.err = err
		f.rejected = append(f.rejected, it)
		signal(f.refused)
	}
}

// takeRejected takes up to n events that the API rejected, oldest first. Each goes to moved or
// notMoved.
func (f *feed) takeRejected(n int) []*item {
	f.mu.Lock()
	defer f.mu.Unlock()
	n = min(n, len(f.rejected))
	taken := slices.Clone(f.rejected[:n])
	f.rejected = slices.Delete(f.rejected, 0, n)
	return taken
}

func (f *feed) noneRejected() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.rejected) == 0
}

// moved notes that a rejected event is in the stream of rejected events.
func (f *feed) moved(it *item) {
	f.mu.Lock()
	f.stuck = false
	f.mu.Unlock()
	f.ack(it.rec.ID, &f.stats.Rejected)
	signal(f.changed)
}

// notMoved queues events for another attempt to move them, after the others, because one may be
// too large for its stream.
func (f *feed) notMoved(items []*item) {
	f.mu.Lock()
	f.stuck = true
	f.rejected = append(f.rejected, items...)
	f.mu.Unlock()
}

// extend extends the AckWait of the messages of the relay.
func (f *feed) extend() {
	f.mu.Lock()
	held := make([]jetstream.Msg, 0, len(f.items))
	for _, it := range f.items {
		if f.acks.link.has(it) {
			held = append(held, it.msg)
		}
	}
	f.mu.Unlock()
	for _, m := range held {
		_ = m.InProgress() // otherwise AckWait redelivers it
	}
}

// close returns every message that is not in flight, once no more are put.
func (f *feed) close() {
	f.mu.Lock()
	f.closed = true
	waiting := f.waiting.TakeIf(func(*item) bool { return true })
	f.mu.Unlock()
	for _, it := range waiting {
		f.handBack(it.rec.ID, jetstream.Msg.Nak)
	}
	for r, _, ok := f.src.Reclaim(); ok; r, _, ok = f.src.Reclaim() {
		f.handBack(r.ID, jetstream.Msg.Nak)
	}
	f.src.Close()
}

// abandon returns every remaining message.
func (f *feed) abandon() {
	f.mu.Lock()
	var ids []footfall.EventID
	for id := range f.items {
		ids = append(ids, id)
	}
	f.mu.Unlock()
	for _, id := range ids {
		f.handBack(id, jetstream.Msg.Nak)
	}
}

func (f *feed) read() Stats {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.stats
	s.Held = len(f.items)
	return s
}
