package sqlite

import (
	"fmt"
	"slices"
	"strings"
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

// partPages are the texts of the paths, sorted. The other parts are columns.
const partPages = 20

type piece struct{ id, first, until int64 }

// pieces returns the pieces of a day, in order.
func (r *reading) pieces(day int64) (all []piece, err error) {
	var p piece
	err = eachRow(r.ctx, r.tx, "SELECT id, first, until FROM piece WHERE site = ? AND first >= ? AND first < ? ORDER BY first",
		[]any{&p.id, &p.first, &p.until}, func() { all = append(all, p) }, r.site, day*msPerDay, (day+1)*msPerDay)
	return all, err
}

// gap is a span of a day without a piece.
type gap struct {
	from, to int64
	last     bool // no piece follows
}

// gaps returns the gaps between the pieces of a day and after them.
func gaps(day int64, pieces []piece) (all []gap) {
	from := day * msPerDay
	for _, p := range pieces {
		if from < p.first {
			all = append(all, gap{from: from, to: p.first})
		}
		from = p.until
	}
	if end := (day + 1) * msPerDay; from < end {
		all = append(all, gap{from: from, to: end, last: true})
	}
	return all
}

// each calls f with the events of the span in batches, ordered by time: the events of a
// piece or of a gap. With pages, columns.pages is set if the piece has it.
func (d *span) each(want []column, pages bool, f func(*columns) error) error {
	all, err := d.pieces(d.day)
	if err != nil {
		return err
	}
	from := d.from
	for _, p := range all {
		if p.until <= d.from || p.first >= d.to {
			continue
		}
		if err := d.between(from, p.first, want, f); err != nil {
			return err
		}
		c, err := d.unpack(p, want, pages)
		if err != nil {
			return err
		}
		if err := f(c); err != nil {
			return err
		}
		from = p.until
	}
	return d.between(from, d.to, want, f)
}

// between calls f with the events of a gap between two times.
func (d *span) between(from, to int64, want []column, f func(*columns) error) error {
	if from >= to {
		return nil
	}
	c, err := d.scan(from, to, want...)
	if err != nil || c.length() == 0 {
		return err
	}
	return f(c)
}

// columns returns the columns of the whole span. Texts may repeat in its dictionaries.
func (d *span) columns(want ...column) (*columns, error) {
	all := &columns{}
	err := d.each(want, false, func(c *columns) error {
		all.join(c)
		return nil
	})
	return all, err
}

// unpack decodes columns of a piece and drops the rows outside of the span.
func (d *span) unpack(p piece, want []column, pages bool) (*columns, error) {
	cut := p.first < d.from || p.until > d.to
	if cut && !slices.Contains(want, at) {
		want = append([]column{at}, want...)
	}
	parts, err := d.packed(p.id, want, pages)
	if err != nil {
		return nil, err
	}
	c := &columns{sorted: true, pages: parts[partPages]}
	for _, of := range want {
		if err := c.decode(of, dayBegin(p.first), parts[int(of)]); err != nil {
			return nil, err
		}
	}
	if err := c.sameLength(want); err != nil {
		return nil, err
	}
	if cut {
		c.cut(d.from, d.to)
	}
	return c, nil
}

// packed reads parts of a piece.
func (r *reading) packed(id int64, want []column, pages bool) (map[int][]byte, error) {
	var list []string
	for _, of := range want {
		list = append(list, fmt.Sprint(int(of)))
	}
	if pages {
		list = append(list, fmt.Sprint(partPages))
	}
	var part int
	var data []byte
	parts := make(map[int][]byte, len(list))
	err := eachRow(r.ctx, r.tx, "SELECT part, data FROM packed WHERE piece = ? AND part IN ("+strings.Join(list, ",")+")",
		[]any{&part, &data}, func() { parts[part], data = data, nil }, id)
	if err == nil && len(parts) != len(list) {
		err = errDamaged
	}
	return parts, err
}

func (c *columns) decode(of column, begin int64, data []byte) error {
	switch of {
	case at:
		d := decoder{rest: data}
		c.at = d.times(begin)
		return d.err()
	case visitor:
		return decodeNumbers(&c.visitor, data)
	case props:
		return decodeSets(&c.props, data)
	default:
		return decodeNumbers(&c.texts[of], data)
	}
}

// sameLength checks that all columns have the same length, so that indexes are safe.
func (c *columns) sameLength(want []column) error {
	for _, of := range want {
		n := 0
		switch of {
		case at:
			n = len(c.at)
		case visitor:
			n = len(c.visitor.of)
		case props:
			n = len(c.props.of)
		default:
			n = len(c.texts[of].of)
		}
		if n != c.length() {
			return errDamaged
		}
	}
	return nil
}

// pack encodes the parts of a piece from all columns.
func (r *reading) pack(c *columns) (map[int][]byte, error) {
	parts := map[int][]byte{
		int(at):      encodeTimes(c.at),
		int(visitor): encodeNumbers(&c.visitor),
		int(props):   encodeSets(&c.props),
	}
	for of := range c.texts {
		texts, err := r.sort(&c.texts[of])
		if err != nil {
			return nil, err
		}
		parts[of] = encodeNumbers(&c.texts[of])
		if column(of) == path {
			parts[partPages] = encodeTexts(texts)
		}
	}
	return parts, nil
}

// sort sorts a dictionary by its texts, and returns them.
func (r *reading) sort(c *dictionary[uint32]) ([]string, error) {
	of, err := r.textsOf(c.values)
	if err != nil {
		return nil, err
	}
	old := slices.Clone(c.values)
	slices.SortFunc(c.values, func(a, b uint32) int { return strings.Compare(of[a], of[b]) })
	moved := make(map[uint32]uint32, len(old))
	texts := make([]string, len(old))
	for i, id := range c.values {
		moved[id], texts[i] = uint32(i), of[id]
	}
	for i, index := range c.of {
		c.of[i] = moved[old[index]]
	}
	c.index = nil
	return texts, nil
}

// newPiece returns the piece of a span with events.
func newPiece(site uint32, from, to int64) *derived {
	var parts map[int][]byte
	return &derived{
		watch: watch{site: site, from: from, to: to},
		read: func(r *reading) error {
			c, err := r.scan(from, to, every...)
			if err == nil {
				parts, err = r.pack(c)
			}
			return err
		},
		keep: func(w *writer) error { return w.keepPiece(site, from, to, parts) },
	}
}

// whole encodes a day that has several pieces as one; nil if it has one already.
func (d *span) whole() (map[int][]byte, error) {
	all, err := d.pieces(d.day)
	if err != nil || len(all) == 1 {
		return nil, err
	}
	c, err := d.scan(d.from, d.to, every...)
	if err != nil {
		return nil, err
	}
	return d.pack(c)
}

// keepWhole replaces the pieces of a day by one.
func (w *writer) keepWhole(of dayOf, parts map[int][]byte) error {
	if parts == nil {
		return nil
	}
	if _, err := w.conn.ExecContext(background, "DELETE FROM piece WHERE site = ? AND first >= ? AND first < ?", of.site, of.begin(), of.end()); err != nil {
		return err
	}
	return w.keepPiece(of.site, of.begin(), of.end(), parts)
}

func (w *writer) keepPiece(site uint32, from, to int64, parts map[int][]byte) error {
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
