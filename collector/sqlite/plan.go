package sqlite

import (
	"context"
	"time"

	"github.com/footfall-dev/footfall/collector/sqlite/internal/colstore"
)

// defaultSegmentLength is the number of events in a segment of the current day, and so about
// the most events that a report reads one by one.
const defaultSegmentLength = 1 << 14

// segmentProps is about the most bytes of props in a segment, because reports hold one segment in
// memory.
const segmentProps = 32 << 20

const (
	// settleTime is how long events of a time may still arrive. A later one removes the
	// segment, which is then made again.
	settleTime = 2 * time.Second

	// lateFactor is how many times longer a segment may be if it is made late: for a closed
	// day, or after the compactor had no time.
	lateFactor = 8
)

// work is the next step for a day.
type work struct {
	nothing  bool
	rollUp   bool
	from, to int64  // bounds of a segment; equal for none
	left     dueDay // events that are too few for a segment
}

// planner finds the next step for a day.
type planner struct {
	now    func() time.Time
	length int // events in a segment
	props  int // bytes of props in a segment
}

func (p *planner) next(ctx context.Context, rd *reader, of siteDay) (next work, err error) {
	open := of.day >= colstore.DayOf(p.now().UnixMilli())
	err = rd.viewOf(ctx, of.site, of.begin(), of.end(), func(r *reading) (err error) {
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
			part, err := p.nextSegment(r, g, open)
			part.rollUp = next.rollUp
			part.left.events += next.left.events
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
func (p *planner) nextSegment(r *reading, g gap, open bool) (next work, err error) {
	end, growing := g.to, open && g.last
	if growing {
		end = min(end, p.now().Add(-settleTime).UnixMilli())
	}
	for _, length := range []int{p.length * lateFactor, p.length} {
		last, found, err := r.timeOfEvent(g.from, end, length)
		if err != nil {
			return next, err
		}
		if found {
			next.from = g.from
			next.to, err = r.endOfProps(g.from, min(last+1, g.to), p.props)
			return next, err
		}
	}
	if growing {
		return p.growing(r, g)
	}
	if _, some, err := r.timeOfEvent(g.from, g.to, 1); err != nil || !some {
		return next, err
	}
	next.from = g.from
	next.to, err = r.endOfProps(g.from, g.to, p.props)
	return next, err
}

// growing counts the events of a gap that are too few for a segment, or too recent. Events of later
// times do not count, but the time when they are enough does.
func (p *planner) growing(r *reading, g gap) (next work, err error) {
	now := p.now().UnixMilli()
	err = r.tx.QueryRowContext(r.ctx, "SELECT count(*) FROM event WHERE site = ? AND at >= ? AND at < ?", r.site, g.from, min(g.to, now+1)).Scan(&next.left.events)
	if err != nil || next.left.events >= p.length {
		return next, err
	}
	last, found, err := r.timeOfEvent(g.from, g.to, p.length)
	if found {
		next.left.again = last + 1 + settleTime.Milliseconds()
	}
	return next, err
}
