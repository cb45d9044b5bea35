package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"

	"github.com/footfall-dev/footfall/collector/sqlite/internal/colstore"
	"github.com/footfall-dev/footfall/collector/store"
)

// span is a day, or the part of it in the range.
type span struct {
	*reading
	day      int64
	from, to int64
}

// full reports whether the span is the whole day.
func (d *span) full() bool { return d.to-d.from == colstore.MsPerDay }

// days calls f with each day that has events in the range.
func (s *Store) days(ctx context.Context, q store.Query, f func(*span) error) error {
	return s.read(ctx, q, func(r *reading) error { return r.days(f) })
}

func (r *reading) days(f func(*span) error) error {
	next, err := r.tx.PrepareContext(r.ctx, "SELECT at FROM event WHERE site = ? AND at >= ? AND at < ? ORDER BY at LIMIT 1")
	if err != nil {
		return err
	}
	defer func() { _ = next.Close() }()
	for from := r.from; ; {
		var at int64
		err := next.QueryRowContext(r.ctx, r.site, from, r.to).Scan(&at)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		day := colstore.DayOf(at)
		begin, end := day*colstore.MsPerDay, (day+1)*colstore.MsPerDay
		d := &span{reading: r, day: day, from: max(begin, r.from), to: min(end, r.to)}
		if err := f(d); err != nil {
			return err
		}
		from = end
	}
}

// rolledDays returns the days of the range whose rollup has all parts. A rollup of an earlier
// version may have fewer.
func (r *reading) rolledDays() (map[int64]bool, error) {
	parts := colstore.RollupParts()
	var day int64
	rolled := make(map[int64]bool)
	err := eachRow(r.ctx, r.tx, "SELECT day FROM rollup WHERE site = ? AND day BETWEEN ? AND ? AND part IN ("+list(parts)+") GROUP BY day HAVING count(*) = ?",
		[]any{&day}, func() { rolled[day] = true }, r.site, colstore.DayOf(r.from), colstore.DayOf(r.to), len(parts))
	return rolled, err
}

// rollupPart reads a part of the day's rollup. It is not found if the span is not the whole day,
// if the day is not rolled up yet, or if the part is damaged: then the events must be counted.
func (d *span) rollupPart(part int) (data []byte, found bool, err error) {
	if !d.full() {
		return nil, false, nil
	}
	err = d.tx.QueryRowContext(d.ctx, "SELECT data FROM rollup WHERE site = ? AND day = ? AND part = ?", d.site, d.day, part).Scan(&data)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, false, nil
	case err != nil:
		return nil, false, err
	}
	if data, err = colstore.Unseal(part, data); err != nil {
		d.s.damage.noteRollup(siteDay{d.site, d.day})
		return nil, false, nil
	}
	return data, true, nil
}

// countTotals counts the events of the span.
func (d *span) countTotals() (colstore.Totals, error) {
	c, err := d.columns(colstore.At, colstore.Visitor, colstore.Name)
	if err != nil {
		return colstore.Totals{}, err
	}
	return c.Totals(), nil
}

// propColumns are the columns that props are counted by.
var propColumns = []colstore.Column{colstore.Visitor, colstore.Name, colstore.Props}

// countProps counts the props of the span's events, by name. It counts one span at a time, because
// that may take 100 MB.
func (d *span) countProps(wanted func(name uint32) bool, most int) (colstore.PropTables, error) {
	if err := d.s.counting.wait(d.ctx); err != nil {
		return nil, err
	}
	defer d.s.counting.done()
	return colstore.CountProps(d.ctx, d.batches(propColumns, false), wanted, most)
}

// columns returns the columns of the whole span.
func (d *span) columns(want ...colstore.Column) (*colstore.Columns, error) {
	return colstore.Join(d.batches(want, false))
}

// batches returns the events of the span, one batch for each segment and for each gap. With
// pages, segments have the texts of the paths.
func (d *span) batches(want []colstore.Column, pages bool) colstore.Batches {
	return d.batchesOf(want, pages, func(*colstore.Columns) error { return nil })
}

// matches returns the events of the span that match.
func (d *span) matches(match *colstore.Matcher, want ...colstore.Column) colstore.Batches {
	return d.batchesOf(append(match.Columns(), want...), match.NeedsPages(), func(c *colstore.Columns) error { return match.Select(c, d.textsOf) })
}

// batchesOf is like batches after work on each batch. Work on segments is done ahead and
// concurrently.
func (d *span) batchesOf(want []colstore.Column, pages bool, work func(*colstore.Columns) error) colstore.Batches {
	return func(yield func(*colstore.Columns, error) bool) {
		all, err := d.segments(d.day)
		if err != nil {
			yield(nil, err)
			return
		}
		gap := func(c *colstore.Columns, err error) bool {
			if err == nil {
				err = work(c)
			}
			return yield(c, err) && err == nil
		}
		from := d.from
		for s, decoded := range d.decodeAhead(all, want, pages, work) {
			if errors.Is(decoded.err, colstore.ErrDamaged) {
				d.s.damage.noteSegment(siteDay{d.site, d.day}, s.id)
				continue // its events are in the gap before the next segment
			}
			if !d.readGap(from, s.first, want, gap) || !yield(decoded.columns, decoded.err) || decoded.err != nil {
				return
			}
			from = s.until
		}
		d.readGap(from, d.to, want, gap)
	}
}

// gapLength is the number of events of a gap in a batch with props, which have up to
// store.MaxBody bytes each.
const gapLength = 1000

// readGap yields the events of a gap between two times, if there are any, and reports whether
// to go on.
func (d *span) readGap(from, to int64, want []colstore.Column, yield func(*colstore.Columns, error) bool) bool {
	for from < to {
		end, err := to, error(nil)
		if slices.Contains(want, colstore.Props) {
			end, err = d.endOf(from, to, gapLength)
		}
		if err != nil {
			return yield(nil, err)
		}
		if !d.readPart(from, end, want, yield) {
			return false
		}
		from = end
	}
	return true
}

// endOf returns the end of a batch of this many events, or more if the last ones have the same
// time.
func (r *reading) endOf(from, to int64, events int) (end int64, err error) {
	last, found, err := r.timeOfEvent(from, to, events)
	if err != nil || !found {
		return to, err
	}
	return last + 1, nil
}

// readPart is like readGap for one batch.
func (d *span) readPart(from, to int64, want []colstore.Column, yield func(*colstore.Columns, error) bool) bool {
	c, err := d.scan(from, to, want...)
	if err == nil && c.Len() == 0 {
		return true
	}
	return yield(c, err)
}

// scan reads columns of the events between two times from the table.
func (r *reading) scan(from, to int64, want ...colstore.Column) (*colstore.Columns, error) {
	c := &colstore.Columns{}
	var names []string
	var into []any
	for _, of := range want {
		names, into = append(names, of.String()), append(into, c.Dest(of))
	}
	err := eachRow(r.ctx, r.tx, "SELECT "+strings.Join(names, ", ")+" FROM event WHERE site = ? AND at >= ? AND at < ? ORDER BY at, seq",
		into, func() {}, r.site, from, to)
	return c, err
}
