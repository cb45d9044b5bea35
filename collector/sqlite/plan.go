package sqlite

import (
	"context"

	"github.com/footfall-dev/footfall/collector/sqlite/internal/colstore"
)

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
