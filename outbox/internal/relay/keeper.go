package relay

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/footfall-dev/footfall/internal/retry"
	"github.com/footfall-dev/footfall/outbox/internal/rows"
)

const (
	gather      = 50 * time.Millisecond // how long changes wait for others
	batch       = 256                   // rows that are claimed at once, and changes that do not wait
	moveAtOnce  = 64                    // rejected rows
	moveAgain   = time.Second           // after a failure
	recoverEach = time.Minute
	lookFull    = 250 * time.Millisecond // how often room is made for others, if those that are held fail
	lookOut     = 2 * time.Second        // the same while the API accepts nothing; if all rows were claimed before, it doubles up to
	longestLook = 30 * time.Second
)

// keeper is the goroutine of a Relay that uses the table, with one transaction at a time.
type keeper struct {
	*Relay
	least    int // rows to claim, if it must make room for them
	backoff  retry.Backoff
	failures int  // transactions in a row
	more     bool // the last claim found as many rows as it asked for
	first    bool // a row was claimed for the first time since room was made in an outage
	stopped  bool // nothing is claimed any more
	said     bool // that there are rejected events

	retryAt   time.Time // after a failure
	wroteAt   time.Time
	polledAt  time.Time // the zero time means now
	againAt   time.Time // when rows that were claimed before had their turn
	lookedAt  time.Time // when room was made in an outage
	lookAgain time.Duration
	extendAt  time.Time
	recoverAt time.Time
	movedAt   time.Time
	moveAt    time.Time // after a failure to move rejected rows
}

func newKeeper(r *Relay) *keeper {
	return &keeper{
		Relay:    r,
		least:    max(1, min(batch, r.cfg.MaxHeld/4)),
		backoff:  retry.Backoff{Base: 100 * time.Millisecond, Max: 5 * time.Second, Low: 0.5},
		extendAt: time.Now().Add(r.cfg.Lease / 3),
	}
}

// run keeps the table until Next has ended.
func (k *keeper) run(work context.Context) {
	stopping := work.Done()
	for {
		k.step(time.Now())
		timer := time.NewTimer(time.Until(k.next(time.Now())))
		select {
		case <-k.wake:
			k.polledAt = time.Time{}
		case <-k.feed.changed:
		case <-timer.C:
		case <-stopping:
			k.stopped, stopping = true, nil
		case <-k.delivered:
			timer.Stop()
			return
		}
		timer.Stop()
	}
}

// step does what is due. An error of the table postpones everything else.
func (k *keeper) step(now time.Time) {
	if now.Before(k.retryAt) {
		return
	}
	for _, part := range []func(time.Time) error{k.write, k.extend, k.recover, k.claim} {
		if err := part(now); err != nil {
			k.failed(err)
			return
		}
	}
	k.move(now)
}

// next returns when something may be due, unless something changes before.
func (k *keeper) next(now time.Time) time.Time {
	if now.Before(k.retryAt) {
		return k.retryAt
	}
	next := k.extendAt
	sooner := func(at time.Time) {
		if at.Before(next) {
			next = at
		}
	}
	if !k.stopped {
		sooner(k.recoverAt)
		free, _ := k.feed.room()
		sooner(k.pollAt(free))
		if k.more && free >= k.least {
			sooner(now)
		}
	}
	changes, rejected := k.feed.pending()
	if changes > 0 {
		sooner(k.wroteAt.Add(gather))
	}
	if rejected > 0 {
		sooner(later(k.movedAt.Add(gather), k.moveAt))
	}
	return next
}

// later returns the later of two times.
func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// context bounds a transaction.
func (k *keeper) context() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), k.cfg.Timeout)
}

// failed logs the second of several failures in a row: the first one may be a deadlock, or a connection that
// has ended.
func (k *keeper) failed(err error) {
	k.retryAt = time.Now().Add(k.backoff.Delay(min(k.failures, 10)))
	k.failures++
	if k.failures == 2 {
		k.cfg.Logger.Warn("outbox: the table cannot be used; events wait in it, and it is tried again", "error", err)
	}
}

// worked notes that a transaction has not failed.
func (k *keeper) worked() {
	if k.failures > 1 {
		k.cfg.Logger.Info("outbox: the table can be used again")
	}
	k.failures = 0
}

// write writes changes, many at once.
func (k *keeper) write(now time.Time) error {
	if n, _ := k.feed.pending(); n == 0 || n < batch && now.Sub(k.wroteAt) < gather {
		return nil
	}
	return k.writeNow()
}

func (k *keeper) writeNow() error {
	c := k.feed.take()
	if c.Len() == 0 {
		return nil
	}
	ctx, cancel := k.context()
	defer cancel()
	if err := k.cfg.Table.Write(ctx, &c); err != nil {
		k.feed.notWritten(&c)
		return err
	}
	k.feed.written(&c)
	k.wroteAt = time.Now()
	k.worked()
	return nil
}

// extend extends the leases of the rows that are held, three times in a lease.
func (k *keeper) extend(now time.Time) error {
	if now.Before(k.extendAt) {
		return nil
	}
	ids := k.feed.leased()
	if len(ids) > 0 {
		ctx, cancel := k.context()
		defer cancel()
		all, err := k.cfg.Table.Extend(ctx, ids, k.cfg.Lease)
		if err != nil {
			return err
		}
		if all { // otherwise a row has another owner, and Take drops those whose time is over
			k.feed.extended(now.Add(k.cfg.Lease))
		}
		k.worked()
	}
	k.extendAt = now.Add(k.cfg.Lease / 3)
	return nil
}

// recover ends leases that would never end, because the clock of the database was set back.
func (k *keeper) recover(now time.Time) error {
	if k.stopped || now.Before(k.recoverAt) {
		return nil
	}
	ctx, cancel := k.context()
	defer cancel()
	if err := k.cfg.Table.Recover(ctx, 2*max(k.cfg.Lease, k.cfg.MaxWait)); err != nil {
		return err
	}
	k.recoverAt = now.Add(recoverEach)
	k.worked()
	return nil
}

// claim claims rows if there is room, and if the last claim has left some or a look at the table is due.
func (k *keeper) claim(now time.Time) error {
	free, stuck := k.feed.room()
	switch {
	case k.stopped:
		return nil
	case k.more && free >= k.least:
		return k.claimSome(now, min(free, batch))
	case now.Before(k.pollAt(free)):
		return nil
	case free < k.least && !stuck:
		k.polledAt, k.more = now, true // there may be
		return nil
	}
	if due, err := k.peek(now); err != nil || !due {
		return err
	}
	if free < k.least {
		if err := k.makeRoom(now); err != nil {
			return err
		}
		free, _ = k.feed.room()
	}
	if free <= 0 {
		return nil
	}
	return k.claimSome(now, min(free, batch))
}

// pollAt returns when to look at the table, with room for free rows.
func (k *keeper) pollAt(free int) time.Time {
	if k.more && free < k.least {
		return k.polledAt.Add(min(k.cfg.Poll, lookFull))
	}
	return k.polledAt.Add(k.cfg.Poll)
}

// peek reports whether there is a row to claim.
func (k *keeper) peek(now time.Time) (due bool, err error) {
	ctx, cancel := k.context()
	defer cancel()
	if due, err = k.cfg.Table.Peek(ctx); err != nil {
		return false, err
	}
	if !due { // otherwise the claim says whether the table can be used: it may be read-only
		k.worked()
	}
	k.polledAt, k.more = now, due
	return due, nil
}

// makeRoom gives rows back if those that are held cannot be sent, because others may be accepted. While the
// API accepts nothing, and each row has had its turn, it does so less and less often.
func (k *keeper) makeRoom(now time.Time) error {
	_, out := k.Outage()
	switch {
	case !out:
		k.lookAgain = 0
	case now.Sub(k.lookedAt) < k.lookAgain:
		return nil
	case k.first:
		k.lookedAt, k.lookAgain = now, lookOut
	default:
		k.lookedAt, k.lookAgain = now, min(max(lookOut, 2*k.lookAgain), longestLook)
	}
	k.first = false
	k.feed.makeRoom(k.least, out)
	return k.writeNow()
}

// claimSome claims up to n rows. Rows that were claimed before have a share once in each poll, because others
// may arrive all the time.
func (k *keeper) claimSome(now time.Time, n int) error {
	again := 0
	if now.Sub(k.againAt) >= k.cfg.Poll {
		k.againAt = now
		claimed, err := k.claimOnce(max(1, n/4), true)
		if again = claimed; err != nil {
			return err
		}
	}
	claimed := 0
	if again < n {
		var err error
		if claimed, err = k.claimOnce(n-again, false); err != nil {
			return err
		}
	}
	k.more = again+claimed == n
	k.polledAt = now
	return nil
}

func (k *keeper) claimOnce(n int, again bool) (int, error) {
	ctx, cancel := k.context()
	defer cancel()
	until := time.Now().Add(k.cfg.Lease)
	claimed, err := k.cfg.Table.Claim(ctx, n, again, k.cfg.Lease)
	if err != nil {
		return 0, err
	}
	if !again || len(claimed) > 0 { // a statement that changes no row works without the right to
		k.worked()
	}
	if len(claimed) > 0 {
		k.first = k.first || slices.ContainsFunc(claimed, func(r rows.Row) bool { return r.Claims == 1 })
		k.feed.put(claimed, until)
	}
	return len(claimed), nil
}

// move moves rejected rows, first one if that has failed before.
func (k *keeper) move(now time.Time) {
	_, rejected := k.feed.pending()
	if now.Before(k.moveAt) || rejected == 0 || rejected < moveAtOnce && now.Sub(k.movedAt) < gather {
		return
	}
	k.movedAt = now
	n := moveAtOnce
	if !k.moveAt.IsZero() {
		n = 1
	}
	for items := k.feed.takeRejected(n); len(items) > 0; items = k.feed.takeRejected(moveAtOnce) {
		if err := k.moveSome(items); err != nil {
			if k.moveAt.IsZero() {
				k.cfg.Logger.Warn("outbox: rejected events cannot be moved to their table; it is tried again", "table", k.cfg.Where, "error", err)
			}
			k.moveAt = now.Add(moveAgain)
			return
		}
	}
	k.moveAt = time.Time{}
}

func (k *keeper) moveSome(items []*item) error {
	all := make([]rows.Rejection, len(items))
	for i, it := range items {
		all[i] = rows.Rejection{ID: it.row.ID, Status: it.status, Code: ascii(it.code, maxCode), Message: ascii(it.reason, maxMessage)}
	}
	ctx, cancel := k.context()
	defer cancel()
	if err := k.cfg.Table.Reject(ctx, all); err != nil {
		k.feed.notMoved(items)
		return err
	}
	k.feed.moved(items)
	if !k.said {
		k.said = true
		k.cfg.Logger.Warn("outbox: events are rejected; they move to a table of their own", "table", k.cfg.Where, "first", fmt.Sprint(cmp.Or(items[0].code, items[0].reason)))
	}
	return nil
}

// Bounds of what is kept about a rejected event, in bytes.
const (
	maxCode    = 200
	maxMessage = 2000
)

// finish writes what has become of the last rows. Rows whose changes cannot be written stay leased for a time.
func (k *keeper) finish() {
	k.feed.abandon()
	k.moveAt, k.movedAt = time.Time{}, time.Time{}
	k.move(time.Now())
	for tries := range 3 {
		err := k.writeNow()
		if err == nil {
			return
		}
		if tries == 2 {
			k.cfg.Logger.Warn("outbox: the last changes could not be written; other processes send these events again after their lease", "error", err)
		}
	}
}
