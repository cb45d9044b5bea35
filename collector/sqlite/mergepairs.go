package sqlite

import (
	"bytes"
	"cmp"
	"container/heap"
	"slices"
	"strings"

	"github.com/footfall-dev/footfall/collector/store"
)

// A prop may have millions of distinct values, so the tables of days are not combined in
// memory. All have the same order, so one merge pass meets each pair's counts together.

// cursor is a position in an encoded table of pairs.
type cursor struct {
	decoder
	key, value []byte
	tally
}

func (c *cursor) next() (more bool, err error) {
	if more = c.more(); more {
		c.key, c.value = c.front(c.key), c.front(c.value)
		c.tally = tally{c.decoder.count(), c.decoder.count()}
	}
	return more, c.err()
}

// cursors is a heap, smallest pair first.
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

// add adds an encoded table.
func (h *cursors) add(table []byte) error {
	c := &cursor{decoder: decoder{rest: table}}
	more, err := c.next()
	if more && err == nil {
		heap.Push(h, c)
	}
	return err
}

// advance moves the first cursor to its next pair.
func (h *cursors) advance() error {
	more, err := (*h)[0].next()
	if more {
		heap.Fix(h, 0)
	} else {
		heap.Pop(h)
	}
	return err
}

// mergePairs adds up encoded tables and returns the first limit values of each key.
func mergePairs(tables [][]byte, limit int) ([]store.PropRow, error) {
	if limit <= 0 {
		return nil, nil
	}
	var h cursors
	for _, table := range tables {
		if err := h.add(table); err != nil {
			return nil, err
		}
	}
	m := merged{limit: limit}
	for len(h) > 0 {
		m.add(h[0])
		if err := h.advance(); err != nil {
			return nil, err
		}
	}
	m.endKey()
	return m.all, nil
}

// merged collects the pairs of several days, in order.
type merged struct {
	limit      int
	all        []store.PropRow
	best       values // of the key
	key, value []byte
	tally
}

func (m *merged) add(c *cursor) {
	sameKey := bytes.Equal(m.key, c.key)
	if !sameKey {
		m.endKey()
		m.key = append(m.key[:0], c.key...)
	}
	if !sameKey || !bytes.Equal(m.value, c.value) {
		m.endValue()
		m.value = append(m.value[:0], c.value...)
	}
	m.tally.add(c.tally)
}

// endValue keeps the current value if it is among the first so far. Of equal counts, later
// values come last.
func (m *merged) endValue() {
	row := store.Row{Count: m.count, Visitors: m.visitors}
	m.tally = tally{}
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
	slices.SortFunc(m.best, byCount)
	for _, row := range m.best {
		m.all = append(m.all, store.PropRow{Key: string(m.key), Row: row})
	}
	m.best = nil
}

// values is a heap of rows, the last row first.
type values []store.Row

func (v values) Len() int           { return len(v) }
func (v values) Less(i, j int) bool { return byCount(v[i], v[j]) > 0 }
func (v values) Swap(i, j int)      { v[i], v[j] = v[j], v[i] }
func (v *values) Push(row any)      { *v = append(*v, row.(store.Row)) }
func (v *values) Pop() any          { panic("sqlite: values.Pop is not used") }

// byCount is the order of rows.
func byCount(a, b store.Row) int {
	return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Value, b.Value))
}
