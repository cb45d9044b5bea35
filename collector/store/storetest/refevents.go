package storetest

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"

	"github.com/footfall-dev/footfall/collector/store"
)

// named returns the events of the query with a name.
func (r *Reference) named(q store.Query, name string) []store.Event {
	return slices.DeleteFunc(r.in(q), func(e store.Event) bool { return e.Name != name })
}

// SeriesOf implements store.Store.
func (r *Reference) SeriesOf(ctx context.Context, q store.Query, event string, step store.Step) ([]store.Point, error) {
	leave, err := r.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	return points(r.named(q, event), q, step), nil
}

// PagesOf implements store.Store.
func (r *Reference) PagesOf(ctx context.Context, q store.Query, event string, limit int) ([]store.Row, error) {
	leave, err := r.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	of := make(map[string][]store.Event)
	for _, e := range r.named(q, event) {
		of[e.Path] = append(of[e.Path], e)
	}
	return rows(of, limit), nil
}

// numbers returns the sums of the numeric props of the events with a name. The caller holds the lock.
func (r *Reference) numbers(q store.Query, event string, limit int) []store.Number {
	texts := make(map[string][]string) // by key
	for _, e := range r.named(q, event) {
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
