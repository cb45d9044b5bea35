package footfall

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"
)

// gate stands before all senders. The first answer that means "not now" closes
// it for everyone; after a backoff it lets one probe through, whose answer opens
// it or closes it for longer. So an outage costs one request per backoff step,
// not one per event.
type gate struct {
	retry backoff       // after "not now"
	probe backoff       // after an answer that holds everything
	limit time.Duration // of Retry-After
	log   *slog.Logger

	mu      sync.Mutex
	change  chan struct{} // closed and replaced whenever the gate opens or closes
	turn    uint64        // counts those changes; answers to older requests do not close the gate
	closed  bool
	reason  verdict // why it is closed
	firm    bool    // the API named the time: only a probe reopens
	step    int     // failures in a row, less one
	until   time.Time
	probing bool
	since   time.Time
	told    uint8                 // a bit for each reason that the log was told of since the gate closed
	last    [notAPI + 1]time.Time // when it was told of each
}

func newGate(retry, probe backoff, limit time.Duration, log *slog.Logger) *gate {
	return &gate{retry: retry, probe: probe, limit: limit, log: log, change: make(chan struct{})}
}

// enter waits until a request may be sent, and returns the turn to report its
// answer with. It waits no longer than until closing or ctx ends. tried says that the
// event was sent before.
func (g *gate) enter(ctx context.Context, closing <-chan struct{}, tried bool) (turn uint64) {
	for {
		turn, wait, change := g.tryEnter(tried)
		if change == nil {
			return turn
		}
		if !sleep(ctx, wait, closing, change) {
			return turn
		}
	}
}

// tryEnter returns no change channel if a request may be sent; else how long the
// gate stays closed at least, unless change tells otherwise. An event that was tried is
// the better probe: one that was not may fail for a reason of its own, as that one did,
// and would keep all others waiting for longer.
func (g *gate) tryEnter(tried bool) (turn uint64, wait time.Duration, change <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		return g.turn, 0, nil
	}
	wait = time.Until(g.until)
	if !tried {
		wait += g.retry.base
	}
	if g.probing {
		wait = forever
	} else if wait <= 0 {
		g.probing = true
		return g.turn, 0, nil
	}
	return g.turn, wait, g.change
}

// forever is for waits that something else ends.
const forever = time.Duration(1<<63 - 1)

// sleep waits for d or a change. It returns false when closing or ctx ended.
func sleep(ctx context.Context, d time.Duration, closing, change <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-change:
		return true
	case <-closing:
		return false
	case <-ctx.Done():
		return false
	}
}

// passed is told that the API gave an answer that settles an event: it works.
// An answer to a request that was under way when the gate closed reopens it too,
// so that one failure among many successes does not pause everyone; but not when
// the API itself said how long to wait.
func (g *gate) passed(turn uint64) {
	if told, since := g.open(turn); told {
		g.log.Info("footfall: the API takes events again", "after", time.Since(since).Round(time.Millisecond))
	}
}

// open reports whether the log was told that the gate, now open, was closed.
func (g *gate) open(turn uint64) (told bool, since time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed || g.firm && turn != g.turn {
		return false, time.Time{}
	}
	told = g.told != 0
	g.closed, g.told, g.firm = false, 0, false
	g.turned()
	return told, g.since
}

// failed is told that an attempt of the given turn failed.
func (g *gate) failed(turn uint64, v verdict, a *answer) {
	if g.close(turn, v, a) {
		g.tell(v, a)
	}
}

// close reports whether the log must be told.
func (g *gate) close(turn uint64, v verdict, a *answer) (tell bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	asked := retryAfter(a.retryAfter, now, g.limit)
	firm := asked > 0 || a.status == http.StatusTooManyRequests
	if turn != g.turn && (g.closed || !firm) {
		g.postpone(firm, now.Add(asked))
		return false // the gate knows already, or has opened since
	}
	switch {
	case !g.closed:
		g.since, g.step = now, 0
	case g.reason != v:
		g.step = 0
	default:
		g.step++
	}
	g.closed, g.reason, g.firm = true, v, firm
	g.until = now.Add(max(g.backoff(v).delay(g.step), asked))
	g.turned()
	return g.news(v, now)
}

// postpone heeds a Retry-After that comes when the gate is closed already.
func (g *gate) postpone(firm bool, until time.Time) {
	if firm {
		g.firm = g.closed
		if until.After(g.until) {
			g.until = until
		}
	}
}

// news reports whether the log must be told. That is once per outage and reason:
// at once when someone must act, after the second failure when it may pass by
// itself. Outages that come and go in a moment get a line a minute.
func (g *gate) news(v verdict, now time.Time) bool {
	if g.told&(1<<v) != 0 || v == later && g.step == 0 || now.Sub(g.last[v]) < reportEvery {
		return false
	}
	g.told |= 1 << v
	g.last[v] = now
	return true
}

func (g *gate) backoff(v verdict) backoff {
	if v == later {
		return g.retry
	}
	return g.probe
}

func (g *gate) turned() {
	g.turn++
	g.probing = false
	close(g.change)
	g.change = make(chan struct{})
}

func (g *gate) tell(v verdict, a *answer) {
	switch v {
	case later:
		g.log.Warn("footfall: the API does not take events; they are kept and retried", "error", a.failure())
	case badKey:
		g.log.Error("footfall: the API refuses the key; events are held until it is accepted", "error", a.failure())
	default:
		g.log.Error("footfall: this is not the Site Analytics API; events are held; check BaseURL", "error", a.failure())
	}
}
