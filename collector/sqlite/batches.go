package sqlite

import (
	"errors"
	"slices"
	"strings"

	"github.com/footfall-dev/footfall/collector/sqlite/internal/colstore"
)

// count counts all events of the span.
func (d *span) count(with ...colstore.Counter) error {
	columns, pages := colstore.Needs(with)
	return colstore.Count(d.batches(columns, pages), with...)
}

// columns returns the columns of the whole span.
func (d *span) columns(want ...colstore.Column) (*colstore.Columns, error) {
	return colstore.Join(d.batches(want, false))
}

// batches returns the events of the span, one batch for each segment and for each gap. With
// pages, segments have the texts of the paths.
func (d *span) batches(want []colstore.Column, pages bool) colstore.Batches {
	return d.batchesOf(selection{want: want, pages: pages, work: unchanged})
}

// matches returns the events of the span that match.
func (d *span) matches(match *colstore.Matcher, want ...colstore.Column) colstore.Batches {
	return d.batchesOf(selection{
		want: append(match.Columns(), want...), pages: match.NeedsPages(), work: func(c *colstore.Columns) error { return match.Select(c, d.textsOf) },
	})
}

// selection selects events of a day, their columns, and the work on a batch.
type selection struct {
	want    []colstore.Column
	pages   bool             // with the texts of the paths
	filter  *colstore.Filter // drops events; nil for none
	reached colstore.Reached // for the filter
	work    func(*colstore.Columns) error
}

// apply applies the filter to a batch and does the work.
func (s *selection) apply(d *span, c *colstore.Columns) error {
	if s.filter != nil {
		if err := s.filter.Keep(c, d.textsOf, s.reached); err != nil {
			return err
		}
	}
	return s.work(c)
}

// batchesOf returns the batches of a selection. The work on segments is done ahead and
// concurrently.
func (d *span) batchesOf(sel selection) colstore.Batches {
	return func(yield func(*colstore.Columns, error) bool) {
		all, err := d.segments(d.day)
		if err != nil {
			yield(nil, err)
			return
		}
		gap := func(c *colstore.Columns, err error) bool {
			if err == nil {
				err = sel.apply(d, c)
			}
			return yield(c, err) && err == nil
		}
		from := d.from
		for s, decoded := range d.decodeAhead(all, sel) {
			if errors.Is(decoded.err, colstore.ErrDamaged) {
				d.reader.damaged(siteDay{d.site, d.day}, s.id)
				continue // its events are in the gap before the next segment
			}
			if !d.readGap(from, s.first, sel.want, gap) || !yield(decoded.columns, decoded.err) || decoded.err != nil {
				return
			}
			from = s.until
		}
		d.readGap(from, d.to, sel.want, gap)
	}
}

// gapLength is the number of events of a gap in a batch with props, which have up to
// store.MaxBody bytes each.
const gapLength = 1000

// readGap yields the events of a gap between two times, if there are any, and reports whether
// to go on.
func (d *span) readGap(from, to int64, want []colstore.Column, yield func(*colstore.Columns, error) bool) bool {
	for from < to {
		end := to
		if slices.Contains(want, colstore.Props) {
			last, found, err := d.timeOfEvent(from, to, gapLength)
			if err != nil {
				return yield(nil, err)
			}
			if found {
				end = last + 1 // after all events of this time
			}
		}
		c, err := d.scan(from, end, want...)
		if (err != nil || c.Len() > 0) && !yield(c, err) {
			return false
		}
		from = end
	}
	return true
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
