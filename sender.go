package footfall

import (
	"context"
	"sync"
	"time"
)

// eventsPerSender is how many waiting events call for one more request in flight.
const eventsPerSender = 8

// httpTransport is the default Transport: it posts events to the API, one per
// request, on as many senders as the backlog needs.
type httpTransport struct {
	api      *api
	gate     *gate
	retry    backoff
	timeout  time.Duration // of one attempt
	senders  int           // at most
	rejected func(Record, error)
}

var _ Transport = (*httpTransport)(nil)

// Deliver implements Transport. It starts senders whenever events wait that no
// sender has taken; a sender ends when it finds none.
func (t *httpTransport) Deliver(ctx context.Context, src Source) {
	defer t.api.close()
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

// more says how many senders to add. While the tracker closes all there may be
// are started at once.
func (t *httpTransport) more(waiting, running int, closing <-chan struct{}) int {
	wanted := (waiting + eventsPerSender - 1) / eventsPerSender
	if isClosed(closing) {
		wanted = waiting
	}
	return min(wanted, t.senders-running)
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
	one := make([]Record, 1)
	for senders.take(src, one) {
		outcome, err := t.deliver(ctx, one[0], src.Closing())
		src.Settle(one, outcome, err)
	}
}

// deliver tries until the event is settled. An attempt that begins when the
// tracker is closing is the last.
func (t *httpTransport) deliver(ctx context.Context, r Record, closing <-chan struct{}) (Outcome, error) {
	for attempt := 0; ; attempt++ {
		turn := t.gate.enter(ctx, closing)
		last := isClosed(closing)
		if err := ctx.Err(); err != nil {
			return Lost, err
		}
		a := t.attempt(ctx, r)
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

func (t *httpTransport) attempt(ctx context.Context, r Record) answer {
	ctx, cancel := context.WithTimeout(ctx, t.timeout)
	defer cancel()
	return t.api.post(ctx, r.ID, r.Body)
}

func isClosed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}
