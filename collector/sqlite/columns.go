package sqlite

import (
	"slices"
	"strings"
)

// columns are the events of a day, or of part of it, ordered by time. Columns that were not
// requested are empty, except visitor.
type columns struct {
	at      times // milliseconds since 1970
	visitor dictionary[uint64]
	texts   [textColumns]dictionary[uint32] // IDs of texts
	props   dictionary[string]              // encoded as in the file
	masks   []uint8                         // matches of a matcher, a bit each; not in the file

	sorted bool   // the texts of each dictionary are sorted
	pages  []byte // texts of the path dictionary, encoded; nil if they must be looked up
}

// dictionary is a column with few distinct values: each row holds the index of its value.
// Index 0 is the zero value. Visitors are unique in a dictionary; other values may repeat.
type dictionary[V uint64 | uint32 | string] struct {
	of     []uint32
	values []V
	index  map[V]uint32 // of values, if rows are added one at a time
}

// member returns the index of a value, which it adds if necessary.
func (d *dictionary[V]) member(v V) uint32 {
	if d.index == nil {
		d.index = make(map[V]uint32, len(d.values))
		for i, known := range d.values {
			d.index[known] = uint32(i)
		}
	}
	if len(d.values) == 0 {
		var zero V
		d.index[zero], d.values = 0, append(d.values, zero)
	}
	i, known := d.index[v]
	if !known {
		i = uint32(len(d.values))
		d.index[v] = i
		d.values = append(d.values, v)
	}
	return i
}

// join appends another column.
func (d *dictionary[V]) join(e *dictionary[V]) {
	if len(d.of) == 0 {
		*d = *e
		return
	}
	shift := uint32(len(d.values)) - 1 // index 0 stays
	for _, i := range e.of {
		if i != 0 {
			i += shift
		}
		d.of = append(d.of, i)
	}
	d.values = append(d.values, e.values[min(1, len(e.values)):]...)
	d.index = nil
}

// joinOnce is like join, but keeps the values unique.
func (d *dictionary[V]) joinOnce(e *dictionary[V]) {
	if len(d.of) == 0 {
		*d = *e
		return
	}
	moved := make([]uint32, len(e.values))
	for i, v := range e.values {
		moved[i] = d.member(v)
	}
	d.of = slices.Grow(d.of, len(e.of))
	for _, i := range e.of {
		d.of = append(d.of, moved[i])
	}
}

// Scan implements sql.Scanner. It appends a value, without the reflection that database/sql
// needs for other destinations.
func (d *dictionary[V]) Scan(value any) error {
	switch d := any(d).(type) {
	case *dictionary[uint64]:
		n, _ := value.(int64)
		d.of = append(d.of, d.member(uint64(n)))
	case *dictionary[string]:
		b, _ := value.([]byte)
		d.of = append(d.of, d.member(string(b)))
	case *dictionary[uint32]:
		n, ok := value.(int64)
		if !ok || n < 0 || n > 1<<32-1 {
			return errDamaged
		}
		d.of = append(d.of, d.member(uint32(n)))
	}
	return nil
}

type times []int64

// Scan implements sql.Scanner.
func (c *times) Scan(value any) error {
	n, ok := value.(int64)
	if !ok {
		return errDamaged
	}
	*c = append(*c, n)
	return nil
}

// column identifies a column. Text columns come first, as indexes of columns.texts.
type column int

const (
	path column = iota
	referrer
	source
	medium
	campaign
	name
	textColumns = iota
)

const (
	at column = textColumns + iota
	visitor
	props
)

// every lists the columns of a piece.
var every = []column{at, visitor, path, referrer, source, medium, campaign, name, props}

// named are the columns' names in the file.
var named = [...]string{"path", "referrer", "source", "medium", "campaign", "name", "at", "visitor", "props"}

// column returns the scan destination of a column.
func (c *columns) column(of column) any {
	switch of {
	case at:
		return &c.at
	case visitor:
		return &c.visitor
	case props:
		return &c.props
	default:
		return &c.texts[of]
	}
}

// length returns the number of rows.
func (c *columns) length() int { return len(c.visitor.of) }

// pageview reports whether a row is a pageview, which has no name.
func (c *columns) pageview(row int) bool { return c.texts[name].of[row] == 0 }

// join appends the events of another part of the same day.
func (c *columns) join(d *columns) {
	c.at = append(c.at, d.at...)
	c.visitor.joinOnce(&d.visitor)
	for i := range c.texts {
		c.texts[i].join(&d.texts[i])
	}
	c.props.join(&d.props)
	c.masks = append(c.masks, d.masks...)
}

// scan reads columns of the events between two times from the table.
func (r *reading) scan(from, to int64, want ...column) (*columns, error) {
	c := &columns{}
	var names []string
	var into []any
	for _, of := range want {
		names, into = append(names, named[of]), append(into, c.column(of))
	}
	err := eachRow(r.ctx, r.tx, "SELECT "+strings.Join(names, ", ")+" FROM event WHERE site = ? AND at >= ? AND at < ? ORDER BY at, seq",
		into, func() {}, r.site, from, to)
	return c, err
}

// cut removes the events outside of two times. It needs at.
func (c *columns) cut(from, to int64) {
	a, _ := slices.BinarySearch(c.at, from)
	b, _ := slices.BinarySearch(c.at, to)
	c.at = c.at[a:b]
	for _, of := range c.rows() {
		if len(*of) > 0 {
			*of = (*of)[a:b]
		}
	}
}

// rows returns the columns that are indexes.
func (c *columns) rows() []*[]uint32 {
	all := []*[]uint32{&c.visitor.of, &c.props.of}
	for i := range c.texts {
		all = append(all, &c.texts[i].of)
	}
	return all
}
