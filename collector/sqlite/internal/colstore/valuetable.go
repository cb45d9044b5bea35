package colstore

import (
	"slices"
	"strings"

	"github.com/footfall-dev/footfall/collector/store"
)

// ValueTable counts the values of a prop. It is a [Counter]. Its values are in memory, so their number is bounded.
type ValueTable struct {
	q       *store.Question
	index   map[string]uint32
	values  []string
	tallies []Tally // of values
	visited visited // on the day that is counted
	sums    sums    // of values
}

// NewValueTable returns an empty table for a question by a prop.
func NewValueTable(q *store.Question) *ValueTable {
	return &ValueTable{q: q, index: make(map[string]uint32), sums: sums{key: q.Number}}
}

// Columns implements [Counter].
func (t *ValueTable) Columns() (of []Column, pages bool) { return []Column{Props}, false }

// Add implements [Counter]. It returns [store.ErrTooLarge] if there are too many values.
func (t *ValueTable) Add(b *Batch) error {
	values, err := t.valuesOf(b.Columns)
	if err != nil {
		return err
	}
	events := func(each func(value, row uint32)) {
		for row, set := range b.props.rows {
			value := values[set]
			if value > 0 && (t.q.Counts == store.All || b.pageview(row) == (t.q.Counts == store.Pageviews)) {
				each(value-1, uint32(row))
			}
		}
	}
	events(func(value, row uint32) {
		t.tallies[value].Count++
		t.visited.add(value, b.visitors[row])
	})
	if t.q.Number == "" {
		return nil
	}
	return t.sums.add(b.Columns, len(t.values), events)
}

// valuesOf returns the value of each set of props, counted from 1; 0 for sets without the prop.
func (t *ValueTable) valuesOf(c *Columns) ([]uint32, error) {
	used := make([]bool, len(c.props.values))
	for _, set := range c.props.rows {
		used[set] = true
	}
	values := make([]uint32, len(c.props.values))
	for i, set := range c.props.values {
		if !used[i] {
			continue
		}
		err := eachProp([]byte(set), func(key, value []byte, _ bool) {
			if string(key) == t.q.Key && (len(t.q.Values) == 0 || slices.Contains(t.q.Values, string(value))) {
				values[i] = t.member(value) + 1
			}
		})
		if err != nil {
			return nil, err
		}
		if len(t.values) > store.MaxRows {
			return nil, store.ErrTooLarge
		}
	}
	return values, nil
}

func (t *ValueTable) member(value []byte) uint32 {
	i, known := t.index[string(value)]
	if !known {
		i = uint32(len(t.values))
		t.index[string(value)] = i
		t.values, t.tallies = append(t.values, string(value)), append(t.tallies, Tally{})
	}
	return i
}

// EndDay implements [Counter].
func (t *ValueTable) EndDay(visitors int) { t.visited.tally(t.tallies, visitors) }

// Rows returns the rows of the question, and whether there are more.
func (t *ValueTable) Rows() (rows []store.Row, more bool) {
	search := store.Fold(t.q.Search)
	for i, value := range t.values {
		if n := t.tallies[i]; n.Count > 0 && strings.Contains(store.Fold(value), search) {
			rows = append(rows, store.Row{Value: value, Count: n.Count, Visitors: n.Visitors, Sum: t.sums.of(uint32(i))})
		}
	}
	return page(rows, t.q)
}
