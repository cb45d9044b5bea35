package colstore

import (
	"context"
	"slices"
)

// propCounter counts a share of the props in several passes. Each pass counts the visitors of a
// part, so that the visitors of all passes add up. The first pass also counts the events.
type propCounter struct {
	wanted   func(name uint32) bool
	tables   map[uint32]*propTable // by the ID of the name
	visitors dictionary[uint64]
	share    share
	rows     int // bytes of rows that may be added; negative if there are too many

	most, held  int    // pairs in memory
	parts, part uint32 // parts is a power of two
}

func newPropCounter(wanted func(name uint32) bool, s share, limits propLimits) *propCounter {
	return &propCounter{wanted: wanted, tables: make(map[uint32]*propTable), share: s, rows: limits.rows, most: limits.pairs, parts: 1}
}

// count counts the events of a day.
func (p *propCounter) count(ctx context.Context, day Batches) error {
	for ; p.part < p.parts; p.part++ {
		for c, err := range day {
			if err == nil {
				err = p.add(ctx, c)
			}
			if err != nil {
				return err
			}
		}
		for _, t := range p.tables {
			t.pairs.tally(t.tallies, len(p.visitors.values))
		}
		p.held = 0
	}
	return nil
}

// eventsPerCheck is how many events are counted between two looks at the context. Each has up to
// store.MaxBody bytes of props.
const eventsPerCheck = 64

// add counts the events of a batch.
func (p *propCounter) add(ctx context.Context, c *Columns) error {
	visitors := p.move(c.visitor.values)
	byName := p.tablesOf(c)
	for row, set := range c.props.rows {
		if row%eventsPerCheck == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		t := byName[c.texts[Name].rows[row]]
		if set == 0 || t == nil {
			continue
		}
		rows, err := t.rowsOf(set, c.props.values)
		if err != nil {
			return err
		}
		if p.part == 0 {
			t.count(set)
		}
		if v := visitors[c.visitor.rows[row]]; v != 0 && p.has(v) {
			t.pairs.add(rows, v)
			if p.held += len(rows); p.held > p.most {
				p.shrink()
			}
		}
	}
	return nil
}

// move converts positions of visitors in a batch to positions in the day.
func (p *propCounter) move(values []uint64) []uint32 {
	moved := make([]uint32, len(values))
	if len(p.visitors.values) == 0 { // no index is needed for a single batch
		p.visitors.values = slices.Clone(values)
		for i := range moved {
			moved[i] = uint32(i)
		}
		return moved
	}
	for i, v := range values {
		moved[i] = p.visitors.member(v)
	}
	return moved
}

// has reports whether a visitor is counted in this pass.
func (p *propCounter) has(visitor uint32) bool { return visitor&(p.parts-1) == p.part }

// shrink drops repeated pairs. If that is not enough, it leaves part of the visitors to further
// passes, unless the visitors of an earlier pass are already counted.
func (p *propCounter) shrink() {
	p.each(func(t *propTable) { t.pairs.dedupe() })
	for p.part == 0 && p.held > p.most/2 && p.parts < uint32(len(p.visitors.values)) {
		p.parts *= 2
		p.each(func(t *propTable) { t.pairs.keep(p.has) })
	}
	p.most = max(p.most, 2*p.held)
}

// each calls f with each table, and counts the pairs.
func (p *propCounter) each(f func(*propTable)) {
	p.held = 0
	for _, t := range p.tables {
		f(t)
		p.held += len(t.pairs.rows)
	}
}

// tablesOf returns the tables of the names of a batch; nil for names that are not wanted.
func (p *propCounter) tablesOf(c *Columns) []*setCounter {
	names := c.texts[Name].values
	byName, byID := make([]*setCounter, len(names)), make(map[uint32]*setCounter)
	for i, id := range names {
		if !p.wanted(id) {
			continue
		}
		if p.tables[id] == nil {
			p.tables[id] = &propTable{index: make(map[prop]uint32)}
		}
		if byID[id] == nil {
			byID[id] = &setCounter{propTable: p.tables[id], of: p}
		}
		byName[i] = byID[id]
	}
	return byName
}

// grow counts the bytes of a new row. One row always fits.
func (p *propCounter) grow(t *propTable, bytes int) error {
	p.rows -= rowBytes + bytes
	if p.rows < 0 && len(t.rows) > 1 && p.share.shares < maxShares {
		return errManyRows
	}
	return nil
}

// setCounter counts the sets of a batch.
type setCounter struct {
	*propTable
	of            *propCounter
	members       []uint32   // position of a set in memberRows, from 1
	memberRows    [][]uint32 // rows of a set's props
	memberNumbers [][]uint32 // rows of a set's props that are numbers
}

// count counts an event with a set whose rows are known.
func (t *setCounter) count(set uint32) {
	position := t.members[set] - 1
	for _, i := range t.memberRows[position] {
		t.tallies[i].Count++
	}
	for _, i := range t.memberNumbers[position] {
		t.numbers[i]++
	}
}

// rowsOf returns the rows of all props of a set that are in the share.
func (t *setCounter) rowsOf(set uint32, sets []string) ([]uint32, error) {
	if t.members == nil {
		t.members = make([]uint32, len(sets))
	}
	if t.members[set] == 0 {
		var rows, numbers []uint32
		var full error
		err := eachProp([]byte(sets[set]), func(key, value []byte, numeric bool) {
			if full != nil || !t.of.share.has(key, value) {
				return
			}
			row, added := t.row(key, value)
			if added {
				full = t.of.grow(t.propTable, len(key)+len(value))
			}
			if rows = append(rows, row); numeric {
				numbers = append(numbers, row)
			}
		})
		if err != nil {
			return nil, err
		}
		if full != nil {
			return nil, full
		}
		t.memberRows, t.memberNumbers = append(t.memberRows, rows), append(t.memberNumbers, numbers)
		t.members[set] = uint32(len(t.memberRows))
	}
	return t.memberRows[t.members[set]-1], nil
}
