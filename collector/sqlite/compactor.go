package sqlite

import (
	"context"
	"log/slog"
	"math"
	"slices"
	"time"
)

// compactor makes segments and rollups in a goroutine. It reads concurrently with the writer and
// writes in small transactions, so that events are added between them.
type compactor struct {
	file    *file
	writer  *writer
	reader  *reader
	planner planner
	logger  *slog.Logger
	due     *due
	damage  *damage

	progress   progress
	unreadable unreadable // used by rounds

	compacting turn // held while making segments and rollups
	forgetting turn // held in a transaction that removes events, and while making one segment or rollup
	done       chan struct{}
}

// compactEvery is how often the compactor checks for work.
const compactEvery = time.Second

// run compacts until ctx ends.
func (c *compactor) run(ctx context.Context) {
	defer close(c.done)
	ticker := time.NewTicker(compactEvery)
	defer ticker.Stop()
	var p pace
	for well := true; ; {
		if !p.waits(c.writer.commits.Load()) {
			well = c.tryCatchUp(ctx, well)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// tryCatchUp does the work that is due, and reports whether it succeeded. It logs only the
// first of several failures, and none while the store closes: the next Open continues.
func (c *compactor) tryCatchUp(ctx context.Context, well bool) bool {
	err := c.catchUp(ctx)
	c.file.noteBroken(err)
	if err != nil && well && c.file.closing.Err() == nil {
		c.logger.Warn("sqlite: cannot save precomputed figures, reports are slower", "file", c.file.path, "error", err)
	}
	return err == nil
}

// catchUp does the work that is due.
func (c *compactor) catchUp(ctx context.Context) error {
	if err := c.compacting.wait(ctx); err != nil {
		return err
	}
	defer c.compacting.done()
	defer c.progress.end()
	if err := c.removeDamaged(ctx); err != nil {
		return err
	}
	days, all := c.due.takeReady(c.planner.now().UnixMilli())
	if all {
		if err := c.findDue(ctx); err != nil {
			c.due.addAll()
			return err
		}
		more, _ := c.due.takeReady(c.planner.now().UnixMilli())
		days = slices.Concat(days, more)
	}
	c.progress.begin(len(days))
	for i, of := range days {
		if err := c.compactReadable(ctx, of); err != nil {
			for _, of := range days[i:] {
				c.due.addDay(of)
			}
			return err
		}
		c.progress.next()
	}
	return nil
}

// backlog returns the number of days that have work at a time in milliseconds.
func (c *compactor) backlog(now int64) int { return c.due.count(now) + c.progress.left() }

// findDue adds all days without a complete rollup.
func (c *compactor) findDue(ctx context.Context) error {
	var found []siteDay
	err := c.reader.viewOf(ctx, 0, math.MinInt64/2, math.MaxInt64/2, func(r *reading) error {
		sites, err := r.readableSites()
		if err != nil {
			return err
		}
		for _, r.site = range sites {
			rolled, err := r.rolledDays()
			if err != nil {
				return err
			}
			err = r.eachDay(func(day int64) {
				if !rolled[day] {
					found = append(found, siteDay{r.site, day})
				}
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	for _, of := range found {
		c.due.addDay(of)
	}
	return err
}

// compactReadable compacts a day, unless its events cannot be read.
func (c *compactor) compactReadable(ctx context.Context, of siteDay) error {
	if c.unreadable.has(of) {
		return nil
	}
	err := c.compactDay(ctx, of)
	if isDamage(err) {
		c.leaveOut(ctx, of, err)
		return nil
	}
	return err
}

// compactDay makes the segments of a day, and its rollup if the day is over.
func (c *compactor) compactDay(ctx context.Context, of siteDay) error {
	for more := true; more; {
		begin, commits := time.Now(), c.writer.commits.Load()
		var err error
		if more, err = c.compactNext(ctx, of); err != nil {
			return err
		}
		if err := giveWay(ctx, time.Since(begin), c.writer.commits.Load()-commits); err != nil {
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
	next, err := c.planner.next(ctx, c.reader, of)
	switch {
	case err != nil || next.nothing:
		return false, err
	case next.from < next.to:
		segment := newSegment(of.site, next.from, next.to)
		saved, err := segment.make(ctx, c.writer, c.reader)
		if err == nil && !saved {
			c.due.addDay(of)
		} else if err == nil {
			c.progress.packed(segment.events)
		}
		return saved, err
	case next.rollUp:
		_, err := newRollup(of, c.planner.length*lateFactor, c.planner.props).make(ctx, c.writer, c.reader) // a change marks the day as due again
		return false, err
	}
	c.due.add(of, next.left)
	return false, nil
}

// removeDamaged removes the segments and rollups that are damaged, and marks their days as due.
func (c *compactor) removeDamaged(ctx context.Context) error {
	days := c.damage.take()
	for of, segments := range days {
		err := c.writer.write(ctx, func(conn *connection) error { return conn.removeDamaged(of, segments) })
		if isDamage(err) {
			c.leaveOut(ctx, of, err)
			continue
		}
		if err != nil {
			for of, segments := range days { // removing one twice does no harm
				c.damage.note(of, segments...)
			}
			return err
		}
		c.logger.Warn("sqlite: precomputed figures of a day were damaged and are computed again from its events; check the disk",
			"file", c.file.path, "day", timeOf(of.begin()).Format("2006-01-02"))
		c.due.addDay(of)
	}
	return nil
}

// removeDamaged removes segments of a day, and its rollup in any case: a day with a rollup is not
// looked at again.
func (c *connection) removeDamaged(of siteDay, segments []int64) error {
	if err := c.exec("DELETE FROM rollup WHERE site = ? AND day = ?", of.site, of.day); err != nil {
		return err
	}
	for _, id := range segments {
		if err := c.exec("DELETE FROM piece WHERE id = ?", id); err != nil {
			return err
		}
	}
	return nil
}
