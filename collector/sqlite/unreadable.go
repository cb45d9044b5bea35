package sqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/footfall-dev/footfall/collector/sqlite/internal/colstore"
)

// A damaged page of the file may make events unreadable. The compactor leaves out the days that it cannot
// compute because of that, and goes on with all others. What is precomputed of such a day stays.

// unreadable has the days that the compactor leaves out until the file is opened again.
type unreadable map[siteDay]struct{}

func (u unreadable) has(of siteDay) bool {
	_, left := u[of]
	return left
}

// kindUnreadable is the kind of the records of days that were left out. Their IDs are site/day, or site/ for
// damage of another day that a report or a removal of events has met. A later start does not report their damage again, because
// nothing else would end that.
const kindUnreadable = "unreadable"

// unreadableSweep is the ID of such a record about a sweep that met damage.
const unreadableSweep = "sweep"

// mostNamed bounds the lines in the log.
const mostNamed = 20

// leaveOut leaves out a day, names it in the log, and notes the damage unless an earlier start has.
func (c *compactor) leaveOut(ctx context.Context, of siteDay, cause error) {
	if c.unreadable.has(of) {
		return
	}
	c.unreadable[of] = struct{}{}
	site, day := "", timeOf(of.begin()).Format(time.DateOnly)
	_ = c.reader.view(ctx, func(r *reading) error { // without the name if this page is damaged, too
		texts, err := r.textsOf([]uint32{of.site})
		site = texts[of.site]
		return err
	})
	if len(c.unreadable) <= mostNamed {
		c.logger.Error("sqlite: the figures of a day cannot be computed, because the file is damaged: reports that need its events fail, other days are not affected",
			"file", c.file.path, "site", site, "day", day, "error", cause)
	}
	reportOnce(ctx, c.reader, c.writer, site+"/"+day, cause)
}

// reportOnce notes damage, unless a record of kindUnreadable says that it was noted.
func reportOnce(ctx context.Context, rd *reader, w *writer, id string, cause error) {
	known := 0
	_ = rd.view(ctx, func(r *reading) (err error) {
		_, err = r.find(&known, "SELECT 1 FROM record WHERE kind = ? AND id = ?", kindUnreadable, id)
		return err
	})
	if known == 0 {
		rd.file.noteBroken(cause)
		w.noteReported(ctx, id)
	}
}

// noteReported adds a record of kindUnreadable. If that fails, the next start reports the damage again.
func (w *writer) noteReported(ctx context.Context, id string) {
	_ = w.exec(ctx, "INSERT OR REPLACE INTO record VALUES (?, ?, x'')", kindUnreadable, id)
}

// errReported marks damage that was reported before.
var errReported = errors.New("the damage was reported before")

func reported(damage error) error { return fmt.Errorf("%w (%w)", damage, errReported) }

// isUnreported reports whether an error is damage that was not reported before.
func isUnreported(err error) bool { return isDamage(err) && !errors.Is(err, errReported) }

// unlessReported marks an error of a report as reported before if a record of kindUnreadable says so. Which
// day the report cannot read is not known, but it cannot be made without any day that has a record. The
// search for a day may read a page of the day before or after.
func (r *reading) unlessReported(err error) error {
	if !isDamage(err) {
		return err
	}
	day := func(at int64) string { return r.q.Site + "/" + timeOf(at).Format(time.DateOnly) }
	known := 0
	found, _ := r.find(&known, "SELECT 1 FROM record WHERE kind = ? AND (id = ? OR id BETWEEN ? AND ?)",
		kindUnreadable, r.q.Site+"/", day(r.from-colstore.MsPerDay), day(r.to))
	if found {
		return reported(err)
	}
	return err
}

// unlessReported marks an error of a removal of events as reported before if a record of the site says so:
// a removal needs every day of the site.
func (c *connection) unlessReported(site string, err error) error {
	if !isDamage(err) {
		return err
	}
	var known bool
	_ = c.conn.QueryRowContext(background, "SELECT EXISTS (SELECT 1 FROM record WHERE kind = ? AND id BETWEEN ? AND ?)",
		kindUnreadable, site+"/", site+"/9").Scan(&known)
	if known {
		return reported(err)
	}
	return err
}

// readableSites is like sites. Sites between two damaged pages may be missing.
func (r *reading) readableSites() ([]uint32, error) {
	all, err := r.sites()
	if !isDamage(err) {
		return all, err
	}
	var site uint32
	err = eachRow(r.ctx, r.tx, `WITH RECURSIVE site (id) AS (SELECT max(site) FROM event
		UNION ALL SELECT (SELECT max(site) FROM event WHERE site < id) FROM site WHERE id IS NOT NULL)
		SELECT id FROM site WHERE id IS NOT NULL`, []any{&site}, func() { all = append(all, site) })
	if err != nil && !isDamage(err) {
		return nil, err
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// mostUnread bounds the days around a damaged page.
const mostUnread = 31

// eachDay calls f with each day that may have events. If the search for the next day meets a damaged
// page, it goes on from the last day backwards; the days in between may have events.
func (r *reading) eachDay(f func(day int64)) error {
	next, some := r.from, false
	err := r.days(func(d *day) error {
		next, some = d.end, true
		f(d.spans[0].day)
		return nil
	})
	if !isDamage(err) {
		return err
	}
	end := r.to
	for {
		var at int64
		found, err := r.find(&at, "SELECT at FROM event WHERE site = ? AND at >= ? AND at < ? ORDER BY at DESC LIMIT 1", r.site, next, end)
		if err != nil && !isDamage(err) {
			return err
		}
		if !found {
			break
		}
		f(colstore.DayOf(at))
		end = colstore.DayOf(at) * colstore.MsPerDay
	}
	last := colstore.DayOf(end - 1)
	switch {
	case !some && end == r.to:
		return nil // no event can be read
	case !some:
		f(last)
	case end == r.to:
		f(colstore.DayOf(next))
	default:
		for day := max(colstore.DayOf(next), last-mostUnread+1); day <= last; day++ {
			f(day)
		}
	}
	return nil
}
