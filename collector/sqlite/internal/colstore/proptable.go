package colstore

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// PropTables count the props of events, by the ID of the events' name.
type PropTables map[uint32]*propTable

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
func (t *propTable) row(p prop) uint32 {
	i, known := t.index[p]
	if !known {
		i = uint32(len(t.rows))
		t.index[p] = i
		t.rows, t.tallies, t.numbers = append(t.rows, p), append(t.tallies, Tally{}), append(t.numbers, 0)
	}
	return i
}

// Encode returns the part PartProps of a rollup.
func (t PropTables) Encode() []byte {
	var e encoder
	for _, name := range slices.Sorted(maps.Keys(t)) {
		if len(t[name].rows) > 0 {
			e.number(uint64(name))
			e.bytes(string(t[name].encode()))
		}
	}
	return e
}

// Table returns the encoded table of a name; nil if there is none.
func (t PropTables) Table(name uint32) []byte {
	if t[name] == nil {
		return nil
	}
	return t[name].encode()
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
