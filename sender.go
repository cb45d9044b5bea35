package footfall

import (
	"context"
	"sync"
)

// eventsPerSender is how many waiting events call for one more request in flight.
const eventsPerSender = 8

// httpTransport is the default Transport: it posts events to the API, one per
// request, on as many senders as the backlog needs.
type httpTransport struct {
	poster   Poster
	key      func() string // see cleaner.key
	gate     *gate
	retry    backoff
	senders  int // at most
	rejected func(Record, error)
	desks    sync.Pool // of *desk
}

// desk is what a sender works with. It is used again, so that a sender that ends for
// want of events and is started for the next ones costs no memory.
type desk struct {
	one    [1]Record
	answer Answer
}

var _ Transport = (*httpTransport)(nil)

// Deliver implements Transport. It starts senders whenever events wait that no
// sender has taken; a sender ends when it finds none.
func (t *httpTransport) Deliver(ctx context.Context, src Source) {
	defer t.poster.Close()
	var running sync.WaitGroup
	defer running.Wait()
	var senders crew
	for {
		waiting, ok := src.Wait(ctx)
		if !ok {
			return
		}
		for range senders.grow(func(running int) int { return t.more(waiting, running, src.Closing()) }) {
			running.Go(func() { t.send(ctx, src, &senders) })
		}
	}
}

// more says how many senders to add to those that run, so that the backlog has what it
// calls for. While the tracker closes all there may be are started at once.
func (t *httpTransport) more(waiting, running int, closing <-chan struct{}) int {
	if isClosed(closing) {
		return min(waiting, t.senders-running)
	}
	wanted := (waiting + eventsPerSender - 1) / eventsPerSender
	return min(wanted, t.senders) - running
}

// crew counts the senders.
type crew struct {
	mu sync.Mutex
	n  int
}

func (c *crew) grow(more func(running int) int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := max(0, more(c.n))
	c.n += n
	return n
}

// take returns false if none is waiting, and then counts the sender out at once:
// an event that comes after that must not be left to it.
func (c *crew) take(src Source, one []Record) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if src.Take(one) == 1 {
		return true
	}
	c.n--
	return false
}

// send delivers one event after the other until none is waiting.
func (t *httpTransport) send(ctx context.Context, src Source, senders *crew) {
	d := t.desks.Get().(*desk)
	for senders.take(src, d.one[:]) {
		outcome, err := t.deliver(ctx, d.one[0], &d.answer, src.Closing())
		src.Settle(d.one[:], outcome, err)
	}
	d.one[0] = Record{} // which holds a slab
	t.desks.Put(d)
}

// deliver tries until the event is settled. An attempt that begins when the
// tracker is closing is the last.
func (t *httpTransport) deliver(ctx context.Context, r Record, into *Answer, closing <-chan struct{}) (Outcome, error) {
	for attempt := 0; ; attempt++ {
		turn := t.gate.enter(ctx, closing, attempt > 0)
		last := isClosed(closing)
		if err := ctx.Err(); err != nil {
			return Lost, err
		}
		a := t.attempt(ctx, r, into)
		if a.err != nil && ctx.Err() != nil {
			return Lost, ctx.Err() // cut off, which says nothing about the API
		}
		v := judge(&a)
		switch v {
		case accepted:
			t.gate.passed(turn)
			return Delivered, nil
		case refused:
			t.gate.passed(turn)
			err := a.refusal()
			t.rejected(r, err)
			return Rejected, err
		}
		t.gate.failed(turn, v, &a)
		if last {
			return Lost, a.failure()
		}
		// An event waits by itself too, also behind a refused key: it may be the
		// only one that a firewall on the way does not let through.
		sleep(ctx, t.retry.delay(attempt), closing, nil)
	}
}

// attempt posts the event once. The answer's body is into's.
func (t *httpTransport) attempt(ctx context.Context, r Record, into *Answer) answer {
	into.reset()
	err := t.poster.Post(ctx, r, into)
	return answer{status: into.Status, body: into.Body, retryAfter: into.RetryAfter, cut: into.Cut, err: err, key: t.key}
}

func isClosed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}
