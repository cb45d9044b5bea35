package colstore

import (
	"cmp"
	"strings"

	"github.com/footfall-dev/footfall/collector/store"
)

// compareRows orders the rows of a table: descending counts, then values.
func compareRows(a, b store.Row) int {
	return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Value, b.Value))
}
