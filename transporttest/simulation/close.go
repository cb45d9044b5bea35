package simulation

import (
	"context"
	"errors"
	"testing/synctest"
	"time"

	"github.com/footfall-dev/footfall"
)

// closing describes the tracker when Close is called.
type closing struct {
	before   footfall.Stats
	left     []*history // accepted and not settled
	attempts []int      // so far, of the events in left
	accepted bool       // the API had settled an event before
	within   time.Duration
}

// shut closes the tracker and waits for all goroutines of the script.
func (r *run) shut() {
	c := r.beginClose()
	ctx, cancel := context.WithTimeout(context.Background(), c.within)
	defer cancel()
	r.callers.Go(func() { r.closeAgain(ctx) })
	err := r.tracker.Close(ctx)
	r.result = err
	close(r.done)
	took := r.now() - r.closeBegan
	r.note("Close after %v: %v", took, err)
	r.checkClose(&c, err, took)
	close(r.over)
	r.readers.Wait()
	r.callers.Wait()
	synctest.Wait()
	r.checkCounts()
	r.checkAllAccounted()
	r.dropped = r.tracker.Stats().Dropped
	if r.client != nil {
		r.client.CloseIdleConnections()
		synctest.Wait()
	}
}

// closeAgain calls Close during or after the first call.
func (r *run) closeAgain(ctx context.Context) {
	time.Sleep(time.Microsecond)
	err := r.tracker.Close(ctx)
	<-r.done
	_, account := errors.AsType[*footfall.CloseError](err)
	_, other := errors.AsType[*footfall.CloseError](r.result)
	if (account || other) && ctx.Err() == nil && !errors.Is(err, r.result) {
		r.fault("close twice", none, "Close returned %v to one caller and %v to another", err, r.result)
	}
}

// beginClose records the state while the tracker is idle.
func (r *run) beginClose() closing {
	synctest.Wait()
	c := closing{before: r.checkCounts(), within: r.script.closing}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, h := range r.events {
		if h != nil && h.accepted && !h.settled {
			c.left = append(c.left, h)
			c.attempts = append(c.attempts, len(h.attempts))
		}
	}
	c.accepted = r.settled >= 0
	r.closeBegan = r.now()
	r.closed.Store(true)
	r.note("Close within %v, with %d events left", c.within, len(c.left))
	return c
}

// patience is how long Close waits after the API last settled an event. It applies to contexts
// without a deadline.
const patience = 5 * time.Minute

// checkClose checks the result of Close.
func (r *run) checkClose(c *closing, err error, took time.Duration) {
	after := r.tracker.Stats()
	r.checkAccount(c, after, err)
	lost := after.Dropped - c.before.Dropped
	r.mu.Lock()
	defer r.mu.Unlock()
	if took > c.within+200*time.Millisecond+moment {
		r.problem("close", none, "Close took %v, and its context ended after %v", took, c.within)
	}
	delivered, rejected := 0, 0
	last := r.closeBegan
	for _, h := range c.left {
		last = max(last, h.at)
		switch {
		case h.rejected:
			rejected++
		case h.settled:
			delivered++
		}
	}
	beforeDeadline := took < c.within-moment
	switch {
	case r.options.Store:
	case c.accepted || delivered+rejected > 0:
		if lost > 0 && beforeDeadline && r.now() < last+patience {
			r.problem("close gives up", none, "Close gave up %d events after %v of %v, and the API has settled events", lost, took, c.within)
		}
	case lost > 0:
		r.checkLastAttempts(c, took, beforeDeadline)
	}
	r.checkQuotaAtClose(c)
	if lost > 0 {
		r.checkHeldUp(c)
		r.checkCause(c, err, beforeDeadline)
	}
}

// checkHeldUp checks that events that fail or hang do not keep Close from delivering others, if the
// API has always worked. An attempt that hangs ends after a second while other events wait, and
// events that were interrupted take turns with the others.
func (r *run) checkHeldUp(c *closing) {
	if len(r.outages)+len(r.refusals) > 0 || c.before.Dropped > 0 {
		return
	}
	bad := 0
	for _, h := range c.left {
		if !h.fate.settlesAtOnce() || h.fate.isSlow() {
			bad++
		}
	}
	busy := min(r.config.AttemptTimeout, time.Second) + 2*leastLook
	rounds := time.Duration(2 * (bad/r.config.MaxInFlight + 1))
	quick := time.Duration(2*len(c.left)/r.config.MaxInFlight + eventsPerSender)
	need := rounds*busy + quick*r.maxLag() + 2*r.config.AttemptTimeout + r.config.BackoffMin + moment + r.options.Slack
	for _, h := range c.left {
		if !h.settled && h.fate.settlesAtOnce() && !h.fate.isSlow() && len(r.limitsOf(h.kind)) == 0 && c.within > need {
			r.problem("close held up", h.n, "#%d (%v) was lost in a Close of %v, and %d events that fail need %v", h.n, h.fate, c.within, bad, need)
			return
		}
	}
}

// checkAccount checks the error of Close against Stats.
func (r *run) checkAccount(c *closing, after footfall.Stats, err error) {
	lost := after.Dropped - c.before.Dropped
	account, typed := errors.AsType[*footfall.CloseError](err)
	switch {
	case lost == 0 && err != nil:
		r.fault("close account", none, "Close returned %v, and nothing was lost", err)
	case lost > 0 && !typed:
		r.fault("close account", none, "Close returned %v, and %d events were lost", err, lost)
	case lost == 0:
		return
	case account.Lost != lost || account.Delivered != after.Delivered-c.before.Delivered ||
		account.Rejected != after.Rejected-c.before.Rejected || account.Stored != after.Stored:
		r.fault("close account", none, "Close returned %v, and Stats were %+v and are %+v", err, c.before, after)
	case account.Delivered+account.Rejected+account.Stored+account.Lost != c.before.Queued+c.before.Stored:
		r.fault("close account", none, "Close returned %v, and %d events were left", err, c.before.Queued+c.before.Stored)
	}
}

// checkLastAttempts checks Close with an API that has never settled an event: each event gets one
// attempt, and then Close returns.
func (r *run) checkLastAttempts(c *closing, took time.Duration, beforeDeadline bool) {
	rounds := time.Duration(len(c.left)/r.config.MaxInFlight + 2)
	each := r.config.AttemptTimeout
	if each >= time.Second {
		each += time.Second // it may be interrupted, and is made again
	}
	if limit := rounds*each + time.Second; took > limit {
		r.problem("close waits", none, "Close took %v, and %d last attempts take at most %v: nothing was accepted", took, len(c.left), limit)
	}
	if r.options.Wire {
		return // an HTTP client may repeat requests by itself
	}
	dropped := c.before.Dropped
	for i, h := range c.left {
		n := h.attemptsSince(c.attempts[i], r.config.AttemptTimeout)
		if n == 0 && dropped > 0 {
			dropped--
		} else if n > 1 || n == 0 && beforeDeadline {
			r.problem("close attempts", h.n, "#%d (%v) had %d attempts after Close began, and nothing was accepted", h.n, h.fate, n)
			return
		}
	}
}

// attemptsSince returns the number of attempts after the first ones, without those that were
// interrupted and made again. An attempt is interrupted after a second at least, and may end in the
// same moment as its timeout.
func (h *history) attemptsSince(first int, timeout time.Duration) (n int) {
	for i, at := range h.attempts[first:] {
		took, last := at.to-at.from, first+i+1 == len(h.attempts)
		if interrupted := at.result == givenUp && (took < timeout || took == time.Second); last || !interrupted {
			n++
		}
	}
	return n
}

// checkCause checks that the error of Close names its reason: the context ended, or the last
// failure of one of the lost events.
func (r *run) checkCause(c *closing, err error, beforeDeadline bool) {
	failures := cause{at: -1, none: c.before.Dropped > 0}
	for _, h := range c.left {
		if !h.settled {
			one := h.cause(r.now())
			failures.words = append(failures.words, one.words...)
			failures.also = append(failures.also, one.also...)
			if r.options.Wire { // where the library may not know of the last one
				failures.also = append(failures.also, h.failures()...)
			}
		}
	}
	failures.none = failures.none || r.options.Wire && failures.isOfConnections()
	failures = r.unseen(failures)
	if !beforeDeadline && c.within > 0 && !errors.Is(err, context.DeadlineExceeded) && len(failures.also) == 0 {
		r.problem("close cause", none, "Close returned %q when its context ended", err)
	}
	if beforeDeadline && len(failures.words)+len(failures.also) == 0 {
		r.problem("close cause", none, "Close returned %q before its context ended, and no attempt has failed", err)
	}
	if !failures.isIn(err) {
		r.problem("close cause", none, "Close returned %q, which does not name the last failure: %v", err, failures)
	}
}

// checkAllAccounted checks that every unsettled event is counted as dropped or stored. It runs
// after Close.
func (r *run) checkAllAccounted() {
	s := r.tracker.Stats()
	unsettled := uint64(0)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, h := range r.events {
		if h != nil && h.accepted && !h.settled {
			unsettled++
		}
	}
	if s.Queued > 0 || s.Dropped+s.Stored != unsettled {
		r.problem("accounted", none, "%d events were not settled, and Stats after Close are %+v", unsettled, s)
	}
}
