package storetest

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/footfall-dev/footfall/collector/store"
)

// allProps returns the most frequent values of each key, and the sums of the others.
func allProps(events []store.Event, limit int) []store.PropRow {
	of := make(map[string]map[string][]store.Event) // by key and value
	counts := make(map[string]int64)
	for _, e := range events {
		for _, p := range e.Props {
			if of[p.Key] == nil {
				of[p.Key] = make(map[string][]store.Event)
			}
			of[p.Key][p.Value] = append(of[p.Key][p.Value], e)
			counts[p.Key]++
		}
	}
	if limit <= 0 {
		return nil
	}
	return propRows(of, counts, limit)
}

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
		shown := rows(of[key], store.MostCounted, "")
		shown = shown[:min(len(shown), limit)]
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

// numbers returns the sums of numeric props.
func numbers(events []store.Event, limit int) []store.Number {
	texts := make(map[string][]string) // by key
	for _, e := range events {
		for _, p := range e.Props {
			if p.Numeric {
				texts[p.Key] = append(texts[p.Key], p.Value)
			}
		}
	}
	var all []store.Number
	for _, key := range slices.Sorted(maps.Keys(texts)) {
		if n := sum(key, texts[key]); n.Count > 0 {
			all = append(all, n)
		}
	}
	slices.SortStableFunc(all, func(a, b store.Number) int { return cmp.Compare(b.Count, a.Count) })
	return all[:min(len(all), max(limit, 0))]
}

// sum adds up numbers in byte order of their texts, equal ones at once.
func sum(key string, texts []string) store.Number {
	n := store.Number{Key: key}
	slices.Sort(texts)
	for len(texts) > 0 {
		same := 1
		for same < len(texts) && texts[same] == texts[0] {
			same++
		}
		if value, err := strconv.ParseFloat(texts[0], 64); err == nil {
			n.Add(value, int64(same))
		}
		texts = texts[same:]
	}
	return n
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
