package sqlite

import (
	"slices"
	"strconv"
	"strings"

	"github.com/footfall-dev/footfall/collector/sqlite/internal/colstore"
)

// A piece is a copy of many events of a day as encoded columns. It is made when no more
// events of its span are expected. Pieces do not overlap. They are always exact: a
// transaction that adds an event to a piece's span removes the piece.

// pieceLength is the number of events in a piece of the current day, and so about the most
// events that a report reads one by one.
const pieceLength = 1 << 14

// wholeLength is how many times longer a piece may be if it is made late: for a closed day,
// or after the keeper had no time.
const wholeLength = 8

type piece struct{ id, first, until int64 }

// pieces returns the pieces of a day, in order.
func (r *reading) pieces(day int64) (all []piece, err error) {
	var p piece
	err = eachRow(r.ctx, r.tx, "SELECT id, first, until FROM piece WHERE site = ? AND first >= ? AND first < ? ORDER BY first",
		[]any{&p.id, &p.first, &p.until}, func() { all = append(all, p) }, r.site, day*colstore.MsPerDay, (day+1)*colstore.MsPerDay)
	return all, err
}

// gap is a span of a day without a piece.
type gap struct {
	from, to int64
	last     bool // no piece follows
}

// gaps returns the gaps between the pieces of a day and after them.
func gaps(day int64, pieces []piece) (all []gap) {
	from := day * colstore.MsPerDay
	for _, p := range pieces {
		if from < p.first {
			all = append(all, gap{from: from, to: p.first})
		}
		from = p.until
	}
	if end := (day + 1) * colstore.MsPerDay; from < end {
		all = append(all, gap{from: from, to: end, last: true})
	}
	return all
}

// columns returns the columns of the whole span.
func (d *span) columns(want ...colstore.Column) (*colstore.Columns, error) {
	return colstore.Join(d.batches(want, false))
}

// batches returns the events of the span: those of each piece and of each gap. With pages,
// pieces have the texts of the paths.
func (d *span) batches(want []colstore.Column, pages bool) colstore.Batches {
	return func(yield func(*colstore.Columns, error) bool) {
		all, err := d.pieces(d.day)
		if err != nil {
			yield(nil, err)
			return
		}
		from := d.from
		for _, p := range all {
			if p.until <= d.from || p.first >= d.to {
				continue
			}
			if !d.between(from, p.first, want, yield) || !yield(d.unpack(p, want, pages)) {
				return
			}
			from = p.until
		}
		d.between(from, d.to, want, yield)
	}
}

// between yields the events of a gap between two times, if there are any, and reports whether
// to go on.
func (d *span) between(from, to int64, want []colstore.Column, yield func(*colstore.Columns, error) bool) bool {
	if from >= to {
		return true
	}
	c, err := d.scan(from, to, want...)
	if err == nil && c.Len() == 0 {
		return true
	}
	return yield(c, err)
}

// columnNames are the names of the columns in the file.
var columnNames = [...]string{
	colstore.Path: "path", colstore.Referrer: "referrer", colstore.Source: "source", colstore.Medium: "medium", colstore.Campaign: "campaign",
	colstore.Name: "name", colstore.At: "at", colstore.Visitor: "visitor", colstore.Props: "props",
}

// scan reads columns of the events between two times from the table.
func (r *reading) scan(from, to int64, want ...colstore.Column) (*colstore.Columns, error) {
	c := &colstore.Columns{}
	var names []string
	var into []any
	for _, of := range want {
		names, into = append(names, columnNames[of]), append(into, c.Dest(of))
	}
	err := eachRow(r.ctx, r.tx, "SELECT "+strings.Join(names, ", ")+" FROM event WHERE site = ? AND at >= ? AND at < ? ORDER BY at, seq",
		into, func() {}, r.site, from, to)
	return c, err
}

// unpack decodes columns of a piece and drops the rows outside of the span.
func (d *span) unpack(p piece, want []colstore.Column, pages bool) (*colstore.Columns, error) {
	cut := p.first < d.from || p.until > d.to
	if cut && !slices.Contains(want, colstore.At) {
		want = append([]colstore.Column{colstore.At}, want...)
	}
	parts, err := d.packed(p.id, colstore.SegmentParts(want, pages))
	if err != nil {
		return nil, err
	}
	c, err := colstore.DecodeSegment(d.day, want, parts)
	if err == nil && cut {
		c.Cut(d.from, d.to)
	}
	return c, err
}

// packed reads parts of a piece.
func (r *reading) packed(id int64, want []int) (colstore.Parts, error) {
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

// newPiece returns the piece of a span with events.
func newPiece(site uint32, from, to int64) *derived {
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
		keep: func(w *writer) error { return w.keepPiece(site, from, to, parts) },
	}
}

// whole encodes a day that has several pieces as one; nil if it has one already.
func (d *span) whole() (colstore.Parts, error) {
	all, err := d.pieces(d.day)
	if err != nil || len(all) == 1 {
		return nil, err
	}
	c, err := d.scan(d.from, d.to, colstore.AllColumns()...)
	if err != nil {
		return nil, err
	}
	return c.EncodeSegment(d.textsOf)
}

// keepWhole replaces the pieces of a day by one.
func (w *writer) keepWhole(of dayOf, parts colstore.Parts) error {
	if parts == nil {
		return nil
	}
	if _, err := w.conn.ExecContext(background, "DELETE FROM piece WHERE site = ? AND first >= ? AND first < ?", of.site, of.begin(), of.end()); err != nil {
		return err
	}
	return w.keepPiece(of.site, of.begin(), of.end(), parts)
}

func (w *writer) keepPiece(site uint32, from, to int64, parts colstore.Parts) error {
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
