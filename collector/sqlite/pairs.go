package sqlite

import (
	"cmp"
	"slices"
)

// pair is a prop without its type: the number 5 and the string "5" count together.
type pair struct{ key, value string }

// pairs are the props of the events with one name, with their counts.
type pairs struct {
	rows  []pair
	tally []tally
	index map[pair]uint32

	values, visitors []uint32 // for each prop of each event, until tally is computed
	sets             []uint32 // index of a set in members, from 1
	members          [][]uint32
}

// member returns the index of a pair, which it adds if necessary.
func (t *pairs) member(p pair) uint32 {
	i, known := t.index[p]
	if !known {
		i = uint32(len(t.rows))
		t.index[p] = i
		t.rows = append(t.rows, p)
	}
	return i
}

// of returns the indexes of all pairs of a set.
func (t *pairs) of(set uint32, sets []string) ([]uint32, error) {
	if t.sets == nil {
		t.sets = make([]uint32, len(sets))
	}
	if t.sets[set] == 0 {
		all, column := []uint32(nil), sets[set]
		err := eachProp([]byte(column), func(key, value []byte, _ bool) {
			all = append(all, t.member(pair{string(key), string(value)}))
		})
		if err != nil {
			return nil, err
		}
		t.members = append(t.members, all)
		t.sets[set] = uint32(len(t.members))
	}
	return t.members[t.sets[set]-1], nil
}

// encode encodes the table, sorted by key and value.
func (t *pairs) encode() []byte {
	order := make([]uint32, len(t.rows))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(t.rows[a].key, t.rows[b].key), cmp.Compare(t.rows[a].value, t.rows[b].value))
	})
	var e encoder
	var last pair
	for _, i := range order {
		p := t.rows[i]
		e.front(last.key, p.key)
		e.front(last.value, p.value)
		e.count(t.tally[i].count)
		e.count(t.tally[i].visitors)
		last = p
	}
	return e
}

// pairs counts the props of the span's events, by name.
func (d *span) pairs(of func(name uint32) bool) (map[uint32]*pairs, error) {
	c, err := d.columns(visitor, name, props)
	if err != nil {
		return nil, err
	}
	tables := make(map[uint32]*pairs)
	names := &c.texts[name]
	byName := make([]*pairs, len(names.values))
	for i, id := range names.values {
		if !of(id) {
			continue
		}
		if tables[id] == nil {
			tables[id] = &pairs{index: make(map[pair]uint32)}
		}
		byName[i] = tables[id]
	}
	for row, set := range c.props.of {
		t := byName[names.of[row]]
		if set == 0 || t == nil {
			continue
		}
		all, err := t.of(set, c.props.values)
		if err != nil {
			return nil, err
		}
		for _, p := range all {
			t.values, t.visitors = append(t.values, p), append(t.visitors, c.visitor.of[row])
		}
	}
	for _, t := range tables {
		t.tally = tallies(len(t.rows), t.values, t.visitors, len(c.visitor.values))
	}
	return tables, nil
}

func encodePairs(byName map[uint32]*pairs) []byte {
	var e encoder
	for name, table := range byName {
		if len(table.rows) > 0 {
			e.number(uint64(name))
			e.text(string(table.encode()))
		}
	}
	return e
}

// pairsOf returns the encoded table of a name.
func pairsOf(name uint32, data []byte) ([]byte, error) {
	d := decoder{rest: data}
	for d.more() {
		if of, table := uint32(d.number()), d.bytes(); of == name && !d.bad {
			return table, nil
		}
	}
	return nil, d.err()
}
