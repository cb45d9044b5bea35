package colstore

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
)

// PropTables are encoded tables of the props of events, by the ID of the events' name. Tables of
// the same name have different props.
type PropTables map[uint32][][]byte

// Encode returns the part PartProps of a rollup.
func (t PropTables) Encode(ctx context.Context) ([]byte, error) {
	var e encoder
	for _, name := range slices.Sorted(maps.Keys(t)) {
		table, err := joinTables(ctx, t[name])
		if err != nil {
			return nil, err
		}
		e.number(uint64(name))
		e.bytes(string(table))
	}
	return e, nil
}

// joinTables returns one table with the rows of tables that have different props.
func joinTables(ctx context.Context, tables [][]byte) ([]byte, error) {
	if len(tables) == 1 {
		return tables[0], nil
	}
	var e encoder
	var key, value []byte
	err := eachRow(ctx, tables, func(c *cursor) {
		e.front(string(key), string(c.key))
		e.front(string(value), string(c.value))
		e.tally(c.tally)
		e.number(uint64(c.numbers))
		key, value = append(key[:0], c.key...), append(value[:0], c.value...)
	})
	return e, err
}

// propTable counts the props of the events with one name.
type propTable struct {
	rows    []prop
	tallies []Tally // of rows
	numbers []int64 // of rows: events in which the value is a number
	index   map[prop]uint32
	pairs   pairs // of rows and visitors, until tallies are computed
}

// prop is a prop without its type: the number 5 and the string "5" count together.
type prop struct{ key, value string }

// row returns the row of a prop, which it adds if necessary.
func (t *propTable) row(key, value []byte) (i uint32, added bool) {
	i, known := t.index[prop{string(key), string(value)}] // does not copy
	if !known {
		p := prop{string(key), string(value)}
		i = uint32(len(t.rows))
		t.index[p] = i
		t.rows, t.tallies, t.numbers = append(t.rows, p), append(t.tallies, Tally{}), append(t.numbers, 0)
	}
	return i, !known
}

// encode encodes the table, sorted by key and value.
func (t *propTable) encode() []byte {
	order := make([]uint32, len(t.rows))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order, func(a, b uint32) int { return compareProps(t.rows[a], t.rows[b]) })
	var e encoder
	var last prop
	for _, i := range order {
		p := t.rows[i]
		e.front(last.key, p.key)
		e.front(last.value, p.value)
		e.tally(t.tallies[i])
		e.number(uint64(t.numbers[i]))
		last = p
	}
	return e
}

func compareProps(a, b prop) int {
	return cmp.Or(strings.Compare(a.key, b.key), strings.Compare(a.value, b.value))
}

// FindTable returns the encoded table of a name in a part with a table for each name; nil if there
// is none.
func FindTable(data []byte, name uint32) ([]byte, error) {
	d := decoder{data: data}
	for d.more() {
		if of, table := uint32(d.number()), d.bytes(); of == name && !d.bad {
			return table, nil
		}
	}
	return nil, d.err()
}
