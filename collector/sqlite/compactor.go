package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/footfall-dev/footfall/collector/sqlite/internal/colstore"
)

// compactor is a goroutine that makes segments and rollups. It reads concurrently with the
// writer and writes in small transactions, so that events are added between them.
type compactor struct {
	*Store
}

const (
	// compactEvery is how often the compactor checks for work.
	compactEvery = time.Second

	// settleTime is how long events of a time may still arrive. A later one removes the
	// segment, which is then made again.
	settleTime = 2 * time.Second

	// busyRate is the rate of commits per second above which the machine counts as busy. The
	// compactor then waits up to patience, and pauses pauseShare times as long as it has
	// worked.
	busyRate   = 100
	patience   = 30 * time.Second
	pauseShare = 39
	maxPause   = 15 * time.Second

	// lateFactor is how many times longer a segment may be if it is made late: for a closed
	// day, or after the compactor had no time.
	lateFactor = 8
)

// run compacts until ctx ends.
func (c *compactor) run(ctx context.Context) {
	defer close(c.compactorDone)
	ticker := time.NewTicker(compactEvery)
	defer ticker.Stop()
	var p pace
	for well := true; ; {
		if !p.waits(c.commits.Load()) {
			well = c.tryCatchUp(ctx, well)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// pace decides at each tick whether the compactor waits for a busy writer.
type pace struct {
	commits int64
	waited  time.Duration
}

func (p *pace) waits(commits int64) bool {
	busy := commits-p.commits > busyRate
	p.commits = commits
	if busy && p.waited < patience {
		p.waited += compactEvery
		return true
	}
	p.waited = 0
	return false
}

// tryCatchUp does the work that is due, and reports whether it succeeded. It logs only the
// first of several failures, and none while the store closes: the next Open continues.
func (c *compactor) tryCatchUp(ctx context.Context, well bool) bool {
	err := c.catchUp(ctx)
	c.noteBroken(err)
	if err != nil && well && !c.closed.Load() {
		c.logger.Warn("sqlite: cannot save precomputed figures, reports are slower", "file", c.file, "error", err)
	}
	return err == nil
}

// catchUp does the work that is due.
func (c *compactor) catchUp(ctx context.Context) error {
	if err := c.compacting.wait(ctx); err != nil {
		return err
	}
	defer c.compacting.done()
	if err := c.removeDamaged(ctx); err != nil {
		return err
	}
	days, all := c.due.takeReady(c.now().UnixMilli(), c.segmentLength)
	if all {
		if err := c.findDue(ctx); err != nil {
			c.due.addAll()
			return err
		}
		more, _ := c.due.takeReady(c.now().UnixMilli(), c.segmentLength)
		days = slices.Concat(days, more)
	}
	for i, of := range days {
		if err := c.compactDay(ctx, of); err != nil {
			for _, of := range days[i:] {
				c.due.addDay(of, c.segmentLength)
			}
			return err
		}
	}
	return nil
}

func (c *compactor) today() int64 { return colstore.DayOf(c.now().UnixMilli()) }

// findDue adds all days without a complete rollup.
func (c *compactor) findDue(ctx context.Context) error {
	var found []siteDay
	r := &reading{s: c.Store, ctx: ctx, from: math.MinInt64 / 2, to: math.MaxInt64 / 2}
	err := r.state(func() error {
		sites, err := r.sites()
		if err != nil {
			return err
		}
		for _, r.site = range sites {
			rolled, err := r.rolledDays()
			if err != nil {
				return err
			}
			err = r.days(func(d *span) error {
				if !rolled[d.day] {
					found = append(found, siteDay{d.site, d.day})
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	for _, of := range found {
		c.due.addDay(of, c.segmentLength)
	}
	return err
}

// sites returns the sites with events, with one look-up each.
func (r *reading) sites() (all []uint32, err error) {
	var site uint32
	err = eachRow(r.ctx, r.tx, `WITH RECURSIVE site (id) AS (SELECT min(site) FROM event
		UNION ALL SELECT (SELECT min(site) FROM event WHERE site > id) FROM site WHERE id IS NOT NULL)
		SELECT id FROM site WHERE id IS NOT NULL`, []any{&site}, func() { all = append(all, site) })
	return all, err
}

// compactDay makes the segments of a day, and its rollup if the day is over.
func (c *compactor) compactDay(ctx context.Context, of siteDay) error {
	for more := true; more; {
		begin, commits := time.Now(), c.commits.Load()
		var err error
		if more, err = c.compactNext(ctx, of); err != nil {
			return err
		}
		if err := c.giveWay(ctx, time.Since(begin), c.commits.Load()-commits); err != nil {
			return err
		}
	}
	return nil
}

// compactNext makes one segment or the rollup of a day, and reports whether there is more to
// do.
func (c *compactor) compactNext(ctx context.Context, of siteDay) (more bool, err error) {
	if err := c.forgetting.wait(ctx); err != nil { // not while events are being removed
		return false, err
	}
	defer c.forgetting.done()
	next, err := c.nextWork(ctx, of)
	switch {
	case err != nil || next.nothing:
		return false, err
	case next.from < next.to:
		saved, err := c.derive(ctx, newSegment(of.site, next.from, next.to))
		if err == nil && !saved {
			c.due.addDay(of, c.segmentLength)
		}
		return saved, err
	case next.rollUp:
		_, err := c.derive(ctx, newRollup(of, c.segmentLength*lateFactor)) // a change marks the day as due again
		return false, err
	}
	c.due.addLater(of, next.left, next.again)
	return false, nil
}

// giveWay pauses the compactor while the writer is busy.
func (c *compactor) giveWay(ctx context.Context, worked time.Duration, commits int64) error {
	if float64(commits) < busyRate*worked.Seconds() {
		return nil
	}
	select {
	case <-time.After(min(worked*pauseShare, maxPause)):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// work is the next step for a day.
type work struct {
	nothing  bool
	rollUp   bool
	from, to int64 // bounds of a segment; equal for none
	left     int   // number of events that are too few for a segment
	again    int64 // as in dueDay
}

func (c *compactor) nextWork(ctx context.Context, of siteDay) (next work, err error) {
	open := of.day >= c.today()
	err = c.stateOf(ctx, of.site, of.begin(), of.end(), func(r *reading) (err error) {
		rolled, err := r.rolledDays()
		if err != nil {
			return err
		}
		if next.nothing = rolled[of.day]; next.nothing {
			return nil
		}
		next.rollUp = !open
		all, err := r.segments(of.day)
		if err != nil {
			return err
		}
		for _, g := range gaps(of.day, all) {
			part, err := r.nextSegment(g, open)
			part.rollUp, part.left = next.rollUp, part.left+next.left
			if next = part; err != nil || next.from < next.to {
				return err
			}
		}
		return nil
	})
	return next, err
}

// gap is a span of a day without a segment.
type gap struct {
	from, to int64
	last     bool // no segment follows
}

// gaps returns the gaps between the segments of a day and after them.
func gaps(day int64, segments []segment) (all []gap) {
	from := day * colstore.MsPerDay
	for _, s := range segments {
		if from < s.first {
			all = append(all, gap{from: from, to: s.first})
		}
		from = s.until
	}
	if end := (day + 1) * colstore.MsPerDay; from < end {
		all = append(all, gap{from: from, to: end, last: true})
	}
	return all
}

// nextSegment returns the bounds of a segment at the start of a gap, a long one if there are
// many events. If the gap is still growing and has too few events, it returns their number.
func (r *reading) nextSegment(g gap, open bool) (next work, err error) {
	end, growing := g.to, open && g.last
	if growing {
		end = min(end, r.s.now().Add(-settleTime).UnixMilli())
	}
	for _, length := range []int{r.s.segmentLength * lateFactor, r.s.segmentLength} {
		last, found, err := r.timeOfEvent(g.from, end, length)
		if err != nil {
			return next, err
		}
		if found {
			next.from = g.from
			next.to, err = r.endOfProps(g.from, min(last+1, g.to))
			return next, err
		}
	}
	if growing {
		return r.growing(g)
	}
	if _, some, err := r.timeOfEvent(g.from, g.to, 1); err != nil || !some {
		return next, err
	}
	next.from = g.from
	next.to, err = r.endOfProps(g.from, g.to)
	return next, err
}

// growing counts the events of a gap that are too few for a segment, or too recent. Events of later
// times do not count, but the time when they are enough does.
func (r *reading) growing(g gap) (next work, err error) {
	now := r.s.now().UnixMilli()
	err = r.tx.QueryRowContext(r.ctx, "SELECT count(*) FROM event WHERE site = ? AND at >= ? AND at < ?", r.site, g.from, min(g.to, now+1)).Scan(&next.left)
	if err != nil || next.left >= r.s.segmentLength {
		return next, err
	}
	last, found, err := r.timeOfEvent(g.from, g.to, r.s.segmentLength)
	if found {
		next.again = last + 1 + settleTime.Milliseconds()
	}
	return next, err
}

// timeOfEvent returns the time of the nth event of a span, counted from 1.
func (r *reading) timeOfEvent(from, to int64, n int) (at int64, found bool, err error) {
	err = r.tx.QueryRowContext(r.ctx, "SELECT at FROM event WHERE site = ? AND at >= ? AND at < ? ORDER BY at LIMIT 1 OFFSET ?",
		r.site, from, to, n-1).Scan(&at)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, false, nil
	}
	return at, err == nil, err
}
