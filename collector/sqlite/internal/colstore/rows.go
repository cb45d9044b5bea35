package colstore

import (
	"cmp"
	"slices"
	"strings"

	"github.com/footfall-dev/footfall/collector/store"
)

// compareRows orders the rows of a table: descending counts, then values.
func compareRows(a, b store.Row) int {
	return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Value, b.Value))
}

// page sorts rows as a question asks and returns those between its bounds, and whether there are more.
func page(rows []store.Row, q *store.Question) (some []store.Row, more bool) {
	key := func(r store.Row) int64 { return q.Order.Key(r.Count, r.Visitors) }
	slices.SortFunc(rows, func(a, b store.Row) int {
		return cmp.Or(cmp.Compare(key(b), key(a)), strings.Compare(a.Value, b.Value))
	})
	rows = rows[min(len(rows), max(q.Offset, 0)):]
	limit := max(q.Limit, 0)
	return rows[:min(len(rows), limit)], len(rows) > limit
}
