package sqlite

import (
	"slices"
	"strings"
)

// columns are the events of a day, or of a part of it, in the order of their time. Those
// columns that nobody asked for are empty.
type columns struct {
	at                                             times // milliseconds since 1970
	visitor                                        dictionary[uint64]
	name, path, referrer, source, medium, campaign ids
	props                                          dictionary[string] // as they lie in the file
}

// dictionary is a column of few values: each is kept once, and a row has its index.
// Index 0 is the zero value.
type dictionary[V uint64 | string] struct {
	of     []uint32
	values []V
	index  map[V]uint32
}

func (d *dictionary[V]) add(v V) {
	if d.index == nil {
		var zero V
		d.index, d.values = map[V]uint32{zero: 0}, []V{zero}
	}
	i, known := d.index[v]
	if !known {
		i = uint32(len(d.values))
		d.index[v] = i
		d.values = append(d.values, v)
	}
	d.of = append(d.of, i)
}

// Scan implements sql.Scanner: it adds a value. So do those below; database/sql then
// needs no reflection, and a row no struct.
func (d *dictionary[V]) Scan(value any) error {
	switch d := any(d).(type) {
	case *dictionary[uint64]:
		n, _ := value.(int64)
		d.add(uint64(n))
	case *dictionary[string]:
		b, _ := value.([]byte)
		d.add(string(b))
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

type ids []uint32

// Scan implements sql.Scanner.
func (c *ids) Scan(value any) error {
	n, ok := value.(int64)
	if !ok || n < 0 || n > 1<<32-1 {
		return errDamaged
	}
	*c = append(*c, uint32(n))
	return nil
}

// Names of columns; at is always read.
const (
	visitor  = "visitor"
	name     = "name"
	path     = "path"
	referrer = "referrer"
	source   = "source"
	medium   = "medium"
	campaign = "campaign"
	props    = "props"
)

// every is all that a rollup is made of.
var every = []string{visitor, name, path, referrer, source, medium, campaign, props}

// column returns where the values of a column go.
func (c *columns) column(of string) any {
	switch of {
	case visitor:
		return &c.visitor
	case name:
		return &c.name
	case path:
		return &c.path
	case referrer:
		return &c.referrer
	case source:
		return &c.source
	case medium:
		return &c.medium
	case campaign:
		return &c.campaign
	default:
		return &c.props
	}
}

// scan reads columns of the events from a time to another from the table.
func (r *reading) scan(from, to int64, want ...string) (*columns, error) {
	rows, err := r.tx.QueryContext(r.ctx,
		"SELECT at, "+strings.Join(want, ", ")+" FROM event WHERE site = ? AND at >= ? AND at < ? ORDER BY at, seq", r.site, from, to)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	c := &columns{}
	into := []any{&c.at}
	for _, name := range want {
		into = append(into, c.column(name))
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
	}
	return c, rows.Err()
}

// cut leaves only the events from a time to another.
func (c *columns) cut(from, to int64) {
	a, _ := slices.BinarySearch(c.at, from)
	b, _ := slices.BinarySearch(c.at, to)
	c.at = c.at[a:b]
	for _, column := range []*ids{&c.name, &c.path, (*ids)(&c.visitor.of), (*ids)(&c.props.of)} {
		if len(*column) > 0 {
			*column = (*column)[a:b]
		}
	}
}
