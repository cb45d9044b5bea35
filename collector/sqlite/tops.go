package sqlite

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/footfall-dev/footfall/collector/store"
)

// dimensionColumns are the columns that Top counts.
var dimensionColumns = [...]column{
	store.Pages: path, store.Referrers: referrer, store.Sources: source,
	store.Mediums: medium, store.Campaigns: campaign, store.Names: name,
}

// tops counts the values of a dimension.
//
// Millions of values may have equal counts, and the first of them in byte order must be found
// without looking up all their texts. So tops keeps orders: lists of values that are sorted
// by text. The first few of all values are among the first few of each list.
type tops struct {
	by     store.Dimension
	ids    []uint32
	of     []tally // of ids
	index  index
	orders [][]uint32 // of indexes
	loose  []uint32   // indexes that are not sorted
}

func newTops(by store.Dimension) *tops { return &tops{by: by} }

// member returns the index of an ID, which it adds if necessary.
func (t *tops) member(id uint32) uint32 {
	s := t.index.slot(id)
	if s.place == 0 {
		t.ids, t.of = append(t.ids, id), append(t.of, tally{})
		s.place = uint32(len(t.ids))
	}
	return s.place - 1
}

// merge adds the encoded tables of days.
func (t *tops) merge(tables [][]byte) error {
	rows := len(t.ids)
	for _, data := range tables {
		rows += (&decoder{rest: data}).length()
	}
	t.grow(rows)
	for _, data := range tables {
		if err := t.mergeDay(data); err != nil {
			return err
		}
	}
	return nil
}

// grow makes room for this many values at once, to avoid moving a million of them twenty
// times.
func (t *tops) grow(rows int) {
	t.index.grow(rows)
	t.ids, t.of = slices.Grow(t.ids, rows), slices.Grow(t.of, rows)
}

func (t *tops) mergeDay(data []byte) error {
	d := decoder{rest: data}
	order := make([]uint32, d.length())
	for row := range order {
		i := t.member(uint32(d.number()))
		t.of[i].add(tally{d.count(), d.count()})
		order[row] = i
	}
	t.orders = append(t.orders, order)
	return d.err()
}

// count adds the events of a day without a rollup.
func (t *tops) count(d *span) error {
	var values []uint32
	var visitors dictionary[uint64]
	err := d.each(t.columns(), false, func(c *columns) error {
		values = t.take(c, values)
		visitors.joinOnce(&c.visitor)
		return nil
	})
	if err != nil {
		return err
	}
	for i, n := range tallies(len(t.ids), values, visitors.of, len(visitors.values)) {
		t.of[i].add(n)
	}
	return nil
}

// columns returns the columns that count needs.
func (t *tops) columns() []column {
	if of := dimensionColumns[t.by]; of != name {
		return []column{visitor, name, of}
	}
	return []column{visitor, name}
}

// take appends the index of each event's value. It removes the visitors of events that do not
// count.
func (t *tops) take(c *columns, values []uint32) []uint32 {
	of := &c.texts[dimensionColumns[t.by]]
	order := make([]uint32, len(of.values))
	for i, id := range of.values {
		order[i] = t.member(id)
	}
	if c.sorted {
		t.orders = append(t.orders, order)
	} else {
		t.loose = append(t.loose, order...)
	}
	counted := c.visitor.of[:0]
	for row, index := range of.of {
		if t.counts(c.pageview(row), index) {
			values = append(values, order[index])
			counted = append(counted, c.visitor.of[row])
		}
	}
	c.visitor.of = counted
	return values
}

// counts reports whether an event with this value counts.
func (t *tops) counts(pageview bool, index uint32) bool {
	switch t.by {
	case store.Names:
		return !pageview
	case store.Sources, store.Mediums, store.Campaigns:
		return pageview && index != 0
	default:
		return pageview
	}
}

// first returns the first rows.
func (t *tops) first(r *reading, limit int) ([]store.Row, error) {
	found := t.candidates(limit)
	ids := make([]uint32, len(found))
	for i, of := range found {
		ids[i] = t.ids[of]
	}
	texts, err := r.textsOf(ids)
	if err != nil {
		return nil, err
	}
	rows := make([]store.Row, len(found))
	for i, of := range found {
		rows[i] = store.Row{Value: texts[t.ids[of]], Count: t.of[of].count, Visitors: t.of[of].visitors}
	}
	slices.SortFunc(rows, func(a, b store.Row) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Value, b.Value))
	})
	return rows[:min(max(limit, 0), len(rows))], nil
}

// candidates returns indexes that include the first rows.
func (t *tops) candidates(limit int) []uint32 {
	if limit <= 0 {
		return nil
	}
	least, room := t.least(limit)
	found := make(map[uint32]struct{})
	for i, n := range t.of {
		if n.count > least {
			found[uint32(i)] = struct{}{}
		}
	}
	for _, order := range t.orders {
		left := room
		for i := 0; i < len(order) && left > 0; i++ {
			if t.of[order[i]].count == least {
				found[order[i]] = struct{}{}
				left--
			}
		}
	}
	for _, i := range t.loose {
		if room > 0 && t.of[i].count == least {
			found[i] = struct{}{}
		}
	}
	return slices.Collect(maps.Keys(found))
}

// least returns the count of the last row to return, and how many rows with that count fit.
// Values with a count of zero are not rows.
func (t *tops) least(limit int) (count int64, room int) {
	rows := make(map[int64]int) // by count; there are few different counts
	for _, n := range t.of {
		if n.count > 0 {
			rows[n.count]++
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

// encode encodes the table, sorted by text.
func (t *tops) encode(r *reading) ([]byte, error) {
	texts, err := r.textsOf(t.ids)
	if err != nil {
		return nil, err
	}
	var order []uint32
	for i, n := range t.of {
		if n.count > 0 {
			order = append(order, uint32(i))
		}
	}
	slices.SortFunc(order, func(a, b uint32) int { return strings.Compare(texts[t.ids[a]], texts[t.ids[b]]) })
	var e encoder
	e.number(uint64(len(order)))
	for _, i := range order {
		e.number(uint64(t.ids[i]))
		e.count(t.of[i].count)
		e.count(t.of[i].visitors)
	}
	return e, nil
}

// tallyIn returns the counts of one value in an encoded table.
func tallyIn(data []byte, id uint32) (found tally, err error) {
	d := decoder{rest: data}
	for range d.length() {
		of, n := uint32(d.number()), tally{d.count(), d.count()}
		if of == id && !d.bad {
			found = n
		}
	}
	return found, d.err()
}
