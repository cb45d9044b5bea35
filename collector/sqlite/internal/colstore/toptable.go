package colstore

import (
	"maps"
	"slices"
	"strings"

	"github.com/footfall-dev/footfall/collector/store"
)

// TopTable counts the values of a dimension.
//
// Millions of values may have equal counts, and the first of them in byte order must be found
// without looking up all their texts. So a TopTable keeps orders: lists of values that are
// sorted by text. The first few of all values are among the first few of each list.
type TopTable struct {
	info    *store.DimensionInfo
	column  Column
	ids     []uint32
	tallies []Tally // of ids
	index   idIndex
	orders  [][]uint32 // of indexes
	loose   []uint32   // indexes that are not sorted
}

// NewTopTable returns an empty table of a dimension.
func NewTopTable(of *store.DimensionInfo) *TopTable {
	return &TopTable{info: of, column: columnOf(of)}
}

// Columns returns the columns that CountDay needs.
func (t *TopTable) Columns() []Column {
	if t.column != Name {
		return []Column{Visitor, Name, t.column}
	}
	return []Column{Visitor, Name}
}

// CountDay adds the events of a day.
func (t *TopTable) CountDay(day Batches) error {
	var values []uint32
	var visitors dictionary[uint64]
	for c, err := range day {
		if err != nil {
			return err
		}
		values = t.appendValues(c, values)
		visitors.joinOnce(&c.visitor)
	}
	for i, n := range tallies(len(t.ids), values, visitors.rows, len(visitors.values)) {
		t.tallies[i].Add(n)
	}
	return nil
}

// appendValues appends the index of each event's value. It removes the visitors of events that
// do not count.
func (t *TopTable) appendValues(c *Columns, values []uint32) []uint32 {
	of := &c.texts[t.column]
	order := make([]uint32, len(of.values))
	for i, id := range of.values {
		order[i] = t.member(id)
	}
	if c.sorted {
		t.orders = append(t.orders, order)
	} else {
		t.loose = append(t.loose, order...)
	}
	counted, pageviews := c.visitor.rows[:0], t.info.Counts == store.Pageviews
	for row, index := range of.rows {
		if c.pageview(row) == pageviews && (index != 0 || t.info.Blank) {
			values = append(values, order[index])
			counted = append(counted, c.visitor.rows[row])
		}
	}
	c.visitor.rows = counted
	return values
}

// member returns the index of an ID, which it adds if necessary.
func (t *TopTable) member(id uint32) uint32 {
	s := t.index.slot(id)
	if s.place == 0 {
		t.ids, t.tallies = append(t.ids, id), append(t.tallies, Tally{})
		s.place = uint32(len(t.ids))
	}
	return s.place - 1
}

// Merge adds the encoded tables of days.
func (t *TopTable) Merge(tables [][]byte) error {
	rows := len(t.ids)
	for _, data := range tables {
		rows += (&decoder{data: data}).length()
	}
	t.grow(rows)
	for _, data := range tables {
		if err := t.mergeTable(data); err != nil {
			return err
		}
	}
	return nil
}

// grow makes room for this many values at once, to avoid moving a million of them twenty
// times.
func (t *TopTable) grow(rows int) {
	t.index.grow(rows)
	t.ids, t.tallies = slices.Grow(t.ids, rows), slices.Grow(t.tallies, rows)
}

func (t *TopTable) mergeTable(data []byte) error {
	d := decoder{data: data}
	order := make([]uint32, d.length())
	for row := range order {
		i := t.member(uint32(d.number()))
		t.tallies[i].Add(d.tally())
		order[row] = i
	}
	t.orders = append(t.orders, order)
	return d.err()
}

// Rows returns the first rows.
func (t *TopTable) Rows(limit int, texts Texts) ([]store.Row, error) {
	found := t.candidates(limit)
	ids := make([]uint32, len(found))
	for i, index := range found {
		ids[i] = t.ids[index]
	}
	textOf, err := texts(ids)
	if err != nil {
		return nil, err
	}
	rows := make([]store.Row, len(found))
	for i, index := range found {
		n := t.tallies[index]
		rows[i] = store.Row{Value: textOf[t.ids[index]], Count: n.Count, Visitors: n.Visitors}
	}
	slices.SortFunc(rows, compareRows)
	return rows[:min(max(limit, 0), len(rows))], nil
}

// candidates returns indexes that include the first rows.
func (t *TopTable) candidates(limit int) []uint32 {
	if limit <= 0 {
		return nil
	}
	least, room := t.leastCount(limit)
	found := make(map[uint32]struct{})
	for i, n := range t.tallies {
		if n.Count > least {
			found[uint32(i)] = struct{}{}
		}
	}
	for _, order := range t.orders {
		left := room
		for i := 0; i < len(order) && left > 0; i++ {
			if t.tallies[order[i]].Count == least {
				found[order[i]] = struct{}{}
				left--
			}
		}
	}
	for _, i := range t.loose {
		if room > 0 && t.tallies[i].Count == least {
			found[i] = struct{}{}
		}
	}
	return slices.Collect(maps.Keys(found))
}

// leastCount returns the count of the last row to return, and how many rows with that count
// fit. Values with a count of zero are not rows.
func (t *TopTable) leastCount(limit int) (count int64, room int) {
	rows := make(map[int64]int) // by count; there are few different counts
	for _, n := range t.tallies {
		if n.Count > 0 {
			rows[n.Count]++
		}
	}
	for _, count = range slices.Backward(slices.Sorted(maps.Keys(rows))) {
		if rows[count] >= limit {
			return count, limit
		}
		limit -= rows[count]
	}
	return max(count-1, 0), 0 // all rows fit
}

// Encode returns the part of a rollup, sorted by text.
func (t *TopTable) Encode(texts Texts) ([]byte, error) {
	textOf, err := texts(t.ids)
	if err != nil {
		return nil, err
	}
	var order []uint32
	for i, n := range t.tallies {
		if n.Count > 0 {
			order = append(order, uint32(i))
		}
	}
	slices.SortFunc(order, func(a, b uint32) int { return strings.Compare(textOf[t.ids[a]], textOf[t.ids[b]]) })
	var e encoder
	e.number(uint64(len(order)))
	for _, i := range order {
		e.number(uint64(t.ids[i]))
		e.tally(t.tallies[i])
	}
	return e, nil
}

// FindTally returns the tally of one value in an encoded table.
func FindTally(table []byte, id uint32) (found Tally, err error) {
	d := decoder{data: table}
	for range d.length() {
		if rowID, n := uint32(d.number()), d.tally(); rowID == id && !d.bad {
			found = n
		}
	}
	return found, d.err()
}
