package storetest

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/footfall-dev/footfall/collector/store"
)

// propRows returns the most frequent keys and values, and the sums of the others.
func propRows(of map[string]map[string][]store.Event, counts map[string]int64, limit int) (all []store.PropRow) {
	keys := slices.SortedFunc(maps.Keys(of), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), strings.Compare(a, b))
	})
	var rest store.PropRow
	for len(keys) > store.MaxReportKeys {
		last := len(keys) - 1
		rest.Rest++
		rest.Count += counts[keys[last]]
		keys = keys[:last]
	}
	slices.Sort(keys)
	for _, key := range keys {
		left := counts[key]
		shown := rows(of[key], limit)
		for _, row := range shown {
			all = append(all, store.PropRow{Key: key, Row: row})
			left -= row.Count
		}
		if more := len(of[key]) - len(shown); more > 0 {
			all = append(all, store.PropRow{Key: key, Row: store.Row{Count: left}, Rest: more})
		}
	}
	if rest.Rest > 0 {
		all = append(all, rest)
	}
	return all
}

// EachProp implements store.Store.
func (r *Reference) EachProp(ctx context.Context, q store.Query, each func(name string, visitor bool, p store.Prop)) error {
	leave, err := r.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	for _, e := range r.in(q) {
		for _, p := range e.Props {
			each(e.Name, e.Visitor != 0, p)
		}
	}
	return nil
}
