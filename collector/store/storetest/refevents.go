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

// Breakdown implements store.Store.
func (r *Reference) Breakdown(ctx context.Context, q store.Query, event, number string, props []store.Prop, limit int) (all store.Breakdown, err error) {
	leave, err := r.enter(ctx)
	if err != nil {
		return store.Breakdown{}, err
	}
	defer leave()
	events := r.named(q, event)
	by := func(text func(store.Event) string) []store.SumRow {
		of := make(map[string]store.SumRow)
		for _, e := range events {
			if value := text(e); value != "" {
				of[value] = store.SumRow{Value: value, Count: of[value].Count + 1, Sum: of[value].Sum + numberIn(e, number)}
			}
		}
		rows := slices.SortedFunc(maps.Values(of), func(a, b store.SumRow) int {
			return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Value, b.Value))
		})
		return rows[:min(len(rows), max(limit, 0))]
	}
	all.Sources = by(func(e store.Event) string { return e.Source })
	all.Mediums = by(func(e store.Event) string { return e.Medium })
	all.Campaigns = by(func(e store.Event) string { return e.Campaign })
	for _, want := range props {
		row := store.SumRow{Value: want.Value}
		for _, e := range events {
			if slices.ContainsFunc(e.Props, func(p store.Prop) bool { return p.Key == want.Key && p.Value == want.Value }) {
				row.Count++
				row.Sum += numberIn(e, number)
			}
		}
		all.Props = append(all.Props, row)
	}
	return all, nil
}

// numberIn returns the number that an event has in a prop, or 0.
func numberIn(e store.Event, key string) float64 {
	for _, p := range e.Props {
		if n, err := strconv.ParseFloat(p.Value, 64); p.Key == key && p.Numeric && err == nil {
			return n
		}
	}
	return 0
}
