package sqlite

import (
	"strconv"
	"strings"

	"github.com/footfall-dev/footfall/collector/sqlite/internal/colstore"
)

// A segment is a copy of many events of a day as encoded columns. It is made when no more
// events of its span are expected. Segments do not overlap. They are always exact: a
// transaction that adds an event to a segment's span removes the segment.
//
// The table of segments is named piece, and the table of their parts packed. Released files
// have these names.

// defaultSegmentLength is the number of events in a segment of the current day, and so about
// the most events that a report reads one by one.
const defaultSegmentLength = 1 << 14

// lateFactor is how many times longer a segment may be if it is made late: for a closed day,
// or after the compactor had no time.
const lateFactor = 8

type segment struct{ id, first, until int64 }

// segments returns the segments of a day, in order.
func (r *reading) segments(day int64) (all []segment, err error) {
	var s segment
	err = eachRow(r.ctx, r.tx, "SELECT id, first, until FROM piece WHERE site = ? AND first >= ? AND first < ? ORDER BY first",
		[]any{&s.id, &s.first, &s.until}, func() { all = append(all, s) }, r.site, day*colstore.MsPerDay, (day+1)*colstore.MsPerDay)
	return all, err
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

// segmentParts reads parts of a segment.
func (r *reading) segmentParts(id int64, want []int) (colstore.Parts, error) {
	var list []string
	for _, part := range want {
		list = append(list, strconv.Itoa(part))
	}
	var part int
	var data []byte
	parts := make(colstore.Parts, len(list))
	err := eachRow(r.ctx, r.tx, "SELECT part, data FROM packed WHERE piece = ? AND part IN ("+strings.Join(list, ",")+")",
		[]any{&part, &data}, func() { parts[part], data = data, nil }, id)
	if err == nil && len(parts) != len(list) {
		err = colstore.ErrDamaged
	}
	return parts, err
}

// newSegment returns the segment of a span with events.
func newSegment(site uint32, from, to int64) *derived {
	var parts colstore.Parts
	return &derived{
		watch: watch{site: site, from: from, to: to},
		read: func(r *reading) error {
			c, err := r.scan(from, to, colstore.AllColumns()...)
			if err == nil {
				parts, err = c.EncodeSegment(r.textsOf)
			}
			return err
		},
		save: func(w *writer) error { return w.saveSegment(site, from, to, parts) },
	}
}

// whole encodes a day that has several segments as one; nil if it has one already.
func (d *span) whole() (colstore.Parts, error) {
	all, err := d.segments(d.day)
	if err != nil || len(all) == 1 {
		return nil, err
	}
	c, err := d.scan(d.from, d.to, colstore.AllColumns()...)
	if err != nil {
		return nil, err
	}
	return c.EncodeSegment(d.textsOf)
}

// replaceSegments replaces the segments of a day by one.
func (w *writer) replaceSegments(of siteDay, parts colstore.Parts) error {
	if parts == nil {
		return nil
	}
	if _, err := w.conn.ExecContext(background, "DELETE FROM piece WHERE site = ? AND first >= ? AND first < ?", of.site, of.begin(), of.end()); err != nil {
		return err
	}
	return w.saveSegment(of.site, of.begin(), of.end(), parts)
}

func (w *writer) saveSegment(site uint32, from, to int64, parts colstore.Parts) error {
	result, err := w.conn.ExecContext(background, "INSERT INTO piece (site, first, until) VALUES (?, ?, ?)", site, from, to)
	if err != nil {
		return err
	}
	id, err := result.LastInsertId()
	if err != nil {
		return err
	}
	for part, data := range parts {
		if _, err := w.conn.ExecContext(background, "INSERT INTO packed VALUES (?, ?, ?)", id, part, notNull(data)); err != nil {
			return err
		}
	}
	return nil
}

// notNull returns a slice that is not nil, which would be NULL.
func notNull(data []byte) []byte { return append([]byte{}, data...) }
