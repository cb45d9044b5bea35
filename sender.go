package footfall

import (
	"context"
	"sync"
	"sync/atomic"
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
	var senders atomic.Int64
	for {
		waiting, ok := src.Wait(ctx)
		if !ok {
			t.giveUpRest(ctx, src)
			return
		}
		for range t.more(waiting, int(senders.Load()), src.Closing()) {
			senders.Add(1)
			running.Go(func() {
				defer senders.Add(-1)
				t.send(ctx, src)
			})
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

// giveUpRest settles what no sender took before ctx ended.
func (t *httpTransport) giveUpRest(ctx context.Context, src Source) {
	var batch [64]Record
	for n := src.Take(batch[:]); n > 0; n = src.Take(batch[:]) {
		for _, r := range batch[:n] {
			src.Settle(r, Lost, ctx.Err())
		}
	}
}

// send delivers one event after the other until none is waiting.
func (t *httpTransport) send(ctx context.Context, src Source) {
	one := make([]Record, 1)
	for src.Take(one) == 1 {
		outcome, err := t.deliver(ctx, one[0], src.Closing())
		src.Settle(one[0], outcome, err)
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
		if v == later {
			sleep(ctx, t.retry.delay(attempt), closing, nil)
		}
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
