package sqlite

import (
	"context"
	"math"

	"github.com/footfall-dev/footfall/collector/sqlite/internal/colstore"
	"github.com/footfall-dev/footfall/collector/store"
)

// derived is data computed from a snapshot of a span. It is saved unless the span has changed
// meanwhile.
type derived struct {
	watch
	read  func(*reading) error
	save  func(*connection) error
	saved bool

	events int // that were read for a segment
}

// make computes and saves d. Only one call may run at a time.
func (d *derived) make(ctx context.Context, w *writer, rd *reader) (saved bool, err error) {
	err = w.write(ctx, func(c *connection) error {
		c.changes.watch = &d.watch
		return nil
	})
	if err != nil {
		return false, err
	}
	if err := rd.viewOf(ctx, d.site, d.from, d.to, d.read); err != nil {
		return false, err
	}
	err = w.write(ctx, func(c *connection) error {
		c.changes.watch = nil
		if d.saved = !d.changed; d.saved {
			return d.save(c)
		}
		return nil
	})
	if err != nil { // the writer may still be using d
		return false, err
	}
	return d.saved, nil
}

// newSegment returns the segment of a span with events.
func newSegment(site uint32, from, to int64) *derived {
	var parts colstore.Parts
	d := &derived{watch: watch{site: site, from: from, to: to}}
	d.read = func(r *reading) error {
		c, err := r.scan(from, to, colstore.AllColumns()...)
		if err == nil {
			parts, err = c.EncodeSegment(r.textsOf)
			d.events = c.Len()
		}
		return err
	}
	d.save = func(c *connection) error { return c.saveSegment(site, from, to, parts) }
	return d
}

// A rollup holds the totals and tables of a closed day. It is always exact: a transaction
// that adds an event to its day removes it.

// newRollup returns the rollup of a day; without events nothing is saved. It also combines the
// day's segments into one unless that is too long, which halves the work of reports about
// single events.
func newRollup(of siteDay, longest, mostProps int) *derived {
	var tables, whole colstore.Parts
	return &derived{
		watch: watch{site: of.site, from: of.begin(), to: of.end()},
		read: func(r *reading) (err error) {
			d := &span{reading: r, day: of.day, from: of.begin(), to: of.end()}
			var events int64
			if tables, events, err = d.tables(); err == nil && events <= int64(longest) {
				whole, err = d.whole(mostProps)
			}
			return err
		},
		save: func(c *connection) error {
			if err := c.replaceSegments(of, whole); err != nil {
				return err
			}
			for part, data := range tables {
				if err := c.exec("INSERT OR REPLACE INTO rollup VALUES (?, ?, ?, ?)", of.site, of.day, part, colstore.Seal(part, data)); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// tables encodes the totals and tables of a day; nil without events.
func (d *span) tables() (parts colstore.Parts, events int64, err error) {
	var totals colstore.Totals
	counters := []colstore.Counter{&colstore.TotalsCounter{Hours: colstore.HoursOf(d.day), Each: totals.Set}}
	tables := make(map[int]*colstore.TopTable)
	for _, of := range store.Dimensions() {
		part, _ := colstore.TopPart(of)
		tables[part] = colstore.NewTopTable(of)
		counters = append(counters, tables[part])
	}
	err = d.count(counters...)
	if events = totals.Day.Pageviews + totals.Day.Events; err != nil || events == 0 {
		return nil, 0, err
	}
	parts = colstore.Parts{colstore.PartTotals: totals.Encode()}
	for part, t := range tables {
		if parts[part], err = t.Encode(d.textsOf); err != nil {
			return nil, 0, err
		}
	}
	props, err := d.only().countProps(&population{}, func(uint32) bool { return true }, math.MaxInt)
	if err != nil {
		return nil, 0, err
	}
	if parts[colstore.PartProps], err = props.Encode(d.ctx); err != nil {
		return nil, 0, err
	}
	return parts, events, d.addEventTables(parts)
}

func (d *span) addEventTables(parts colstore.Parts) error {
	c, err := d.columns(colstore.At, colstore.Visitor, colstore.Name, colstore.Path)
	if err != nil {
		return err
	}
	tables := colstore.CountEvents(c, func(uint32) bool { return true })
	parts[colstore.PartEventHours] = tables.EncodeHours()
	parts[colstore.PartEventPages], err = tables.EncodePages(d.textsOf)
	return err
}

// whole encodes a day that has several segments as one; nil if it has one already, or has too many
// bytes of props.
func (d *span) whole(mostProps int) (colstore.Parts, error) {
	all, err := d.segments(d.day)
	if err != nil || len(all) == 1 {
		return nil, err
	}
	if end, err := d.endOfProps(d.from, d.to, mostProps); err != nil || end < d.to {
		return nil, err
	}
	c, err := d.scan(d.from, d.to, colstore.AllColumns()...)
	if err != nil {
		return nil, err
	}
	return c.EncodeSegment(d.textsOf)
}

// replaceSegments replaces the segments of a day by one.
func (c *connection) replaceSegments(of siteDay, parts colstore.Parts) error {
	if parts == nil {
		return nil
	}
	if err := c.exec("DELETE FROM piece WHERE site = ? AND first >= ? AND first < ?", of.site, of.begin(), of.end()); err != nil {
		return err
	}
	return c.saveSegment(of.site, of.begin(), of.end(), parts)
}

func (c *connection) saveSegment(site uint32, from, to int64, parts colstore.Parts) error {
	result, err := c.conn.ExecContext(background, "INSERT INTO piece (site, first, until) VALUES (?, ?, ?)", site, from, to)
	if err != nil {
		return err
	}
	id, err := result.LastInsertId()
	if err != nil {
		return err
	}
	for part, data := range parts {
		if err := c.exec("INSERT INTO packed VALUES (?, ?, ?)", id, part, colstore.Seal(part, data)); err != nil {
			return err
		}
	}
	return nil
}
