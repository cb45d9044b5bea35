package colstore

import (
	"bytes"
	"cmp"
	"container/heap"
	"context"
	"slices"

	"github.com/footfall-dev/footfall/collector/store"
)

// A prop may have millions of distinct values, so the tables of days are not combined in
// memory. All have the same order, so one merge pass meets the tallies of each prop together.

// rowsPerCheck is how many rows are merged between two looks at the context.
const rowsPerCheck = 4096

// MergePropTables adds up encoded tables and returns the first limit values of each of the first
// store.MaxReportKeys keys, and the sums of all others.
func MergePropTables(ctx context.Context, tables [][]byte, limit int) ([]store.PropRow, error) {
	if limit <= 0 {
		return nil, nil
	}
	m := merged{limit: limit}
	if err := eachRow(ctx, tables, m.addRow); err != nil {
		return nil, err
	}
	m.endKey()
	return m.rows(), nil
}

// eachRow calls f with the rows of all tables, sorted by key and value.
func eachRow(ctx context.Context, tables [][]byte, f func(*cursor)) error {
	var h cursors
	for _, table := range tables {
		if err := h.open(table); err != nil {
			return err
		}
	}
	for i := 0; len(h) > 0; i++ {
		if i%rowsPerCheck == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		f(h[0])
		if err := h.advance(); err != nil {
			return err
		}
	}
	return nil
}

// cursor is a row of an encoded table of props.
type cursor struct {
	table      decoder // the following rows
	key, value []byte
	tally      Tally
	numbers    int64 // events in which the value is a number
}

func (c *cursor) next() (more bool, err error) {
	if more = c.table.more(); more {
		c.key, c.value = c.table.front(c.key), c.table.front(c.value)
		c.tally, c.numbers = c.table.tally(), int64(c.table.number())
	}
	return more, c.table.err()
}

// cursors is a heap, smallest prop first.
type cursors []*cursor

func (h cursors) Len() int { return len(h) }
func (h cursors) Less(i, j int) bool {
	return cmp.Or(bytes.Compare(h[i].key, h[j].key), bytes.Compare(h[i].value, h[j].value)) < 0
}
func (h cursors) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *cursors) Push(c any)   { *h = append(*h, c.(*cursor)) }
func (h *cursors) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// open adds a cursor at the first row of an encoded table.
func (h *cursors) open(table []byte) error {
	c := &cursor{table: decoder{data: table}}
	more, err := c.next()
	if more && err == nil {
		heap.Push(h, c)
	}
	return err
}

// advance moves the first cursor to its next row.
func (h *cursors) advance() error {
	more, err := (*h)[0].next()
	if more {
		heap.Fix(h, 0)
	} else {
		heap.Pop(h)
	}
	return err
}

// merged collects the rows of several days, in order.
type merged struct {
	limit      int
	keys       leastFirst
	rest       store.PropRow // sum of the keys that are left out
	current    keyRows
	key, value []byte
	tally      Tally // of key and value
}

// keyRows are the rows of a key.
type keyRows struct {
	key    string
	count  int64
	values int
	best   lastFirst
}

func (m *merged) addRow(c *cursor) {
	sameKey := bytes.Equal(m.key, c.key)
	if !sameKey {
		m.endKey()
		m.key = append(m.key[:0], c.key...)
	}
	if !sameKey || !bytes.Equal(m.value, c.value) {
		m.endValue()
		m.value = append(m.value[:0], c.value...)
	}
	m.tally.Add(c.tally)
}

// endValue keeps the current value if it is among the first so far. Of equal counts, later
// values come last.
func (m *merged) endValue() {
	row := store.Row{Count: m.tally.Count, Visitors: m.tally.Visitors}
	m.tally = Tally{}
	if row.Count == 0 {
		return
	}
	k := &m.current
	k.values++
	k.count += row.Count
	switch {
	case len(k.best) < m.limit:
		row.Value = string(m.value)
		heap.Push(&k.best, row)
	case row.Count > k.best[0].Count:
		row.Value = string(m.value)
		k.best[0] = row
		heap.Fix(&k.best, 0)
	}
}

// endKey keeps the current key if it is among the first so far. Of equal counts, later keys come
// last.
func (m *merged) endKey() {
	m.endValue()
	k := m.current
	m.current = keyRows{}
	if k.count == 0 {
		return
	}
	switch {
	case len(m.keys) < store.MaxReportKeys:
		k.key = string(m.key)
		heap.Push(&m.keys, k)
		return
	case k.count > m.keys[0].count:
		k.key = string(m.key)
		k, m.keys[0] = m.keys[0], k
		heap.Fix(&m.keys, 0)
	}
	m.rest.Rest++
	m.rest.Count += k.count
}

// rows returns the rows of all keys, sorted by key, and what the limits left out.
func (m *merged) rows() (all []store.PropRow) {
	slices.SortFunc(m.keys, func(a, b keyRows) int { return cmp.Compare(a.key, b.key) })
	for _, k := range m.keys {
		left := k.count
		slices.SortFunc(k.best, compareRows)
		for _, row := range k.best {
			all = append(all, store.PropRow{Key: k.key, Row: row})
			left -= row.Count
		}
		if more := k.values - len(k.best); more > 0 {
			all = append(all, store.PropRow{Key: k.key, Row: store.Row{Count: left}, Rest: more})
		}
	}
	if m.rest.Rest > 0 {
		all = append(all, m.rest)
	}
	return all
}

// leastFirst is a heap of keys, the last one by descending count first.
type leastFirst []keyRows

func (k leastFirst) Len() int { return len(k) }
func (k leastFirst) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(k[i].count, k[j].count), cmp.Compare(k[j].key, k[i].key)) < 0
}
func (k leastFirst) Swap(i, j int) { k[i], k[j] = k[j], k[i] }
func (k *leastFirst) Push(key any) { *k = append(*k, key.(keyRows)) }
func (k *leastFirst) Pop() any     { panic("colstore: leastFirst.Pop is not used") }

// lastFirst is a heap of rows, the last row first.
type lastFirst []store.Row

func (v lastFirst) Len() int           { return len(v) }
func (v lastFirst) Less(i, j int) bool { return compareRows(v[i], v[j]) > 0 }
func (v lastFirst) Swap(i, j int)      { v[i], v[j] = v[j], v[i] }
func (v *lastFirst) Push(row any)      { *v = append(*v, row.(store.Row)) }
func (v *lastFirst) Pop() any          { panic("colstore: lastFirst.Pop is not used") }
