package colstore

import (
	"bytes"
	"cmp"
	"container/heap"
	"slices"

	"github.com/footfall-dev/footfall/collector/store"
)

// A prop may have millions of distinct values, so the tables of days are not combined in
// memory. All have the same order, so one merge pass meets the tallies of each prop together.

// MergePropTables adds up encoded tables and returns the first limit values of each key.
func MergePropTables(tables [][]byte, limit int) ([]store.PropRow, error) {
	if limit <= 0 {
		return nil, nil
	}
	var h cursors
	for _, table := range tables {
		if err := h.open(table); err != nil {
			return nil, err
		}
	}
	m := merged{limit: limit}
	for len(h) > 0 {
		m.addRow(h[0])
		if err := h.advance(); err != nil {
			return nil, err
		}
	}
	m.endKey()
	return m.all, nil
}

// cursor is a row of an encoded table of props.
type cursor struct {
	table      decoder // the following rows
	key, value []byte
	tally      Tally
}

func (c *cursor) next() (more bool, err error) {
	if more = c.table.more(); more {
		c.key, c.value = c.table.front(c.key), c.table.front(c.value)
		c.tally = c.table.tally()
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
	all        []store.PropRow
	best       lastFirst // of the key
	key, value []byte
	tally      Tally // of key and value
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
	switch {
	case row.Count == 0:
	case len(m.best) < m.limit:
		row.Value = string(m.value)
		heap.Push(&m.best, row)
	case row.Count > m.best[0].Count:
		row.Value = string(m.value)
		m.best[0] = row
		heap.Fix(&m.best, 0)
	}
}

func (m *merged) endKey() {
	m.endValue()
	slices.SortFunc(m.best, compareRows)
	for _, row := range m.best {
		m.all = append(m.all, store.PropRow{Key: string(m.key), Row: row})
	}
	m.best = nil
}

// lastFirst is a heap of rows, the last row first.
type lastFirst []store.Row

func (v lastFirst) Len() int           { return len(v) }
func (v lastFirst) Less(i, j int) bool { return compareRows(v[i], v[j]) > 0 }
func (v lastFirst) Swap(i, j int)      { v[i], v[j] = v[j], v[i] }
func (v *lastFirst) Push(row any)      { *v = append(*v, row.(store.Row)) }
func (v *lastFirst) Pop() any          { panic("colstore: lastFirst.Pop is not used") }
