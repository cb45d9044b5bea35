package colstore

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/footfall-dev/footfall/collector/store"
)

// TopTable counts the values of a dimension. It is a [Counter].
//
// Millions of values may have equal counts, and the first of them in byte order must be found
// without looking up all their texts. So a TopTable keeps orders: lists of values that are
// sorted by text. The first few of all values are among the first few of each list.
type TopTable struct {
	dimension store.Dimension
	column    Column
	ids       []uint32
	tallies   []Tally // of ids
	index     idIndex
	orders    [][]uint32 // of indexes
	loose     []uint32   // indexes that are not sorted

	visited visited // on the day that is counted
	sums    sums    // of ids
}

// NewTopTable returns an empty table of a dimension.
func NewTopTable(of store.Dimension) *TopTable { return NewSumTable(of, "") }

// NewSumTable returns an empty table of a dimension that adds up the numbers of a prop; of none if number is "".
func NewSumTable(of store.Dimension, number string) *TopTable {
	return &TopTable{dimension: of, column: columnOf(of.Field), sums: sums{key: number}}
}

// Columns implements [Counter].
func (t *TopTable) Columns() (of []Column, pages bool) {
	if t.sums.key != "" {
		return []Column{t.column, Props}, false
	}
	return []Column{t.column}, false
}

// Add implements [Counter]. It returns [store.ErrTooLarge] if a table with sums has too many values.
func (t *TopTable) Add(b *Batch) error {
	rows := b.events
	if t.dimension.Counts == store.Pageviews {
		rows = b.pageviews
	}
	of := &b.texts[t.column]
	order := t.order(b.Columns, rows)
	if t.sums.key != "" && len(t.ids) > store.MaxRows {
		return store.ErrTooLarge
	}
	for _, row := range rows {
		if value := order[of.rows[row]]; value != noValue {
			t.tallies[value].Count++
			t.visited.add(value, b.visitors[row])
		}
	}
	if t.sums.key == "" {
		return nil
	}
	return t.sums.add(b.Columns, len(t.ids), func(each func(value, row uint32)) {
		for _, row := range rows {
			if value := order[of.rows[row]]; value != noValue {
				each(value, row)
			}
		}
	})
}

// noValue stands for the position of a text that has no row.
const noValue = math.MaxUint32

// order adds the values of some events, and returns their positions in the table, by their positions in the batch.
func (t *TopTable) order(c *Columns, rows []uint32) []uint32 {
	of := &c.texts[t.column]
	used := make([]bool, len(of.values))
	for _, row := range rows {
		used[of.rows[row]] = true
	}
	blank := t.dimension.Field.HasRow("")
	order := make([]uint32, len(of.values))
	var some []uint32
	for i, id := range of.values {
		if order[i] = noValue; used[i] && (i > 0 || blank) {
			order[i] = t.member(id)
			some = append(some, order[i])
		}
	}
	if c.sorted {
		t.orders = append(t.orders, some)
	} else {
		t.loose = append(t.loose, some...)
	}
	return order
}

// EndDay implements [Counter].
func (t *TopTable) EndDay(visitors int) { t.visited.tally(t.tallies, visitors) }

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

// Rows returns the rows of a question, and whether there are more. ids has the IDs of the values that the question is
// about, if it is not about all.
func (t *TopTable) Rows(q *store.Question, ids map[uint32]bool, texts Texts) (rows []store.Row, more bool, err error) {
	found, err := t.searched(q, ids, texts)
	if err != nil {
		return nil, false, err
	}
	first := t.candidates(max(q.Limit, 0)+max(q.Offset, 0)+1, q.Order, found)
	shown := make([]uint32, len(first))
	for i, index := range first {
		shown[i] = t.ids[index]
	}
	textOf, err := texts(shown)
	if err != nil {
		return nil, false, err
	}
	rows = make([]store.Row, len(first))
	for i, index := range first {
		n := t.tallies[index]
		rows[i] = store.Row{Value: textOf[t.ids[index]], Count: n.Count, Visitors: n.Visitors, Sum: t.sums.of(index)}
	}
	rows, more = page(rows, q)
	return rows, more, nil
}

// searchedAtOnce is how many texts are looked up at once.
const searchedAtOnce = 10_000

// searched returns whether each value is one of those that the question is about; nil if it is about all.
func (t *TopTable) searched(q *store.Question, ids map[uint32]bool, texts Texts) ([]bool, error) {
	if q.Search == "" && len(q.Values) == 0 {
		return nil, nil
	}
	found := make([]bool, len(t.ids))
	var some []uint32
	for i, id := range t.ids {
		found[i] = len(q.Values) == 0 || ids[id]
		if found[i] {
			some = append(some, uint32(i))
		}
	}
	if q.Search == "" {
		return found, nil
	}
	part := store.Fold(q.Search)
	for indexes := range slices.Chunk(some, searchedAtOnce) {
		chunk := make([]uint32, len(indexes))
		for i, index := range indexes {
			chunk[i] = t.ids[index]
		}
		textOf, err := texts(chunk)
		if err != nil {
			return nil, err
		}
		for i, index := range indexes {
			found[index] = strings.Contains(store.Fold(textOf[chunk[i]]), part)
		}
	}
	return found, nil
}

// candidates returns indexes that include the first rows.
func (t *TopTable) candidates(limit int, order store.Order, found []bool) []uint32 {
	keys := make([]int64, len(t.tallies)) // noRow for values that have no row
	for i, n := range t.tallies {
		keys[i] = order.Key(n.Count, n.Visitors)
		if n.Count == 0 || found != nil && !found[i] {
			keys[i] = noRow
		}
	}
	least, room := leastKey(keys, limit)
	some := make(map[uint32]struct{})
	for i, key := range keys {
		if key > least {
			some[uint32(i)] = struct{}{}
		}
	}
	for _, order := range t.orders {
		left := room
		for i := 0; i < len(order) && left > 0; i++ {
			if keys[order[i]] == least {
				some[order[i]] = struct{}{}
				left--
			}
		}
	}
	for _, i := range t.loose {
		if room > 0 && keys[i] == least {
			some[i] = struct{}{}
		}
	}
	return slices.Collect(maps.Keys(some))
}

// noRow is below all keys of rows.
const noRow = math.MinInt64

// leastKey returns the key of the last row to return, and how many rows with that key fit.
func leastKey(keys []int64, limit int) (key int64, room int) {
	rows := make(map[int64]int) // by key; there are few different ones
	for _, key := range keys {
		if key != noRow {
			rows[key]++
		}
	}
	for _, key = range slices.Backward(slices.Sorted(maps.Keys(rows))) {
		if rows[key] >= limit {
			return key, limit
		}
		limit -= rows[key]
	}
	return noRow, 0 // all rows fit
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
