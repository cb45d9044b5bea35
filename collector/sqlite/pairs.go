package sqlite

import (
	"cmp"
	"slices"
)

// pair is a prop without its type: a number counts with a string of its text.
type pair struct{ key, value string }

// pairs are the props of the events of one name, each with how often it was there.
type pairs struct {
	rows  []pair
	tally []tally
	index map[pair]uint32
	seen  visits
}

func newPairs() *pairs {
	return &pairs{index: make(map[pair]uint32), seen: make(visits)}
}

// member returns the index of a pair, which is in the table from then on.
func (t *pairs) member(p pair) uint32 {
	i, known := t.index[p]
	if !known {
		i = uint32(len(t.rows))
		t.index[p] = i
		t.rows, t.tally = append(t.rows, p), append(t.tally, tally{})
	}
	return i
}

// members returns the indexes of all pairs of a column.
func (t *pairs) members(column string) ([]uint32, error) {
	all := []uint32{}
	err := eachProp([]byte(column), func(key, value []byte, _ bool) {
		all = append(all, t.member(pair{string(key), string(value)}))
	})
	return all, err
}

// sorted returns the indexes of the pairs by key, then as told by less.
func (t *pairs) sorted() []uint32 {
	order := make([]uint32, len(t.rows))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(t.rows[a].key, t.rows[b].key),
			cmp.Compare(t.tally[b].count, t.tally[a].count),
			cmp.Compare(t.rows[a].value, t.rows[b].value))
	})
	return order
}

// pairs counts the props of events, by name; needs name, visitor and props.
func (c *columns) pairs(of func(name uint32) bool) (map[uint32]*pairs, error) {
	tables := make(map[uint32]*pairs)
	type setOf struct{ name, set uint32 }
	members := make(map[setOf][]uint32)
	for i, set := range c.props.of {
		name := c.name[i]
		if set == 0 || !of(name) {
			continue
		}
		t := tables[name]
		if t == nil {
			t = newPairs()
			tables[name] = t
		}
		all, known := members[setOf{name, set}]
		if !known {
			var err error
			if all, err = t.members(c.props.values[set]); err != nil {
				return nil, err
			}
			members[setOf{name, set}] = all
		}
		for _, p := range all {
			t.tally[p].add(t.seen.count(p, c.visitor.of[i]))
		}
	}
	return tables, nil
}

// encode packs the table, without who was counted.
func (t *pairs) encode() []byte {
	var e encoder
	for i, p := range t.rows {
		e.text(p.key)
		e.text(p.value)
		e.count(t.tally[i].count)
		e.count(t.tally[i].visitors)
	}
	return e
}

// merge adds what another table, packed, was counted on another day.
func (t *pairs) merge(data []byte) error {
	for d := (decoder{rest: data}); d.more(); {
		p := pair{string(d.bytes()), string(d.bytes())}
		n := tally{d.count(), d.count()}
		if d.bad {
			return errDamaged
		}
		t.tally[t.member(p)].add(n)
	}
	return nil
}
