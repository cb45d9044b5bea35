package sqlite

import (
	"slices"

	"github.com/footfall-dev/footfall/collector/sqlite/internal/colstore"
	"github.com/footfall-dev/footfall/collector/store"
)

// kept decides which events of the table a filter keeps. It remembers which visitors of the last day have reached the goals of the filter.
type kept struct {
	q       store.Query
	day     *day             // nil if none is known
	reached colstore.Reached // on the day
}

func newKept(q store.Query) *kept { return &kept{q: q} }

// events returns the events that the filter keeps, in their order.
func (k *kept) events(r *reading, all []store.Event) (some []store.Event, err error) {
	if len(k.q.Filter) == 0 {
		return all, nil
	}
	for i := range all {
		keep, err := k.event(r, &all[i])
		if err != nil {
			return nil, err
		}
		if keep {
			some = append(some, all[i])
		}
	}
	return some, nil
}

func (k *kept) event(r *reading, e *store.Event) (keep bool, err error) {
	keep = k.q.Filter.Keeps(e, func(condition int) bool {
		var reached bool
		reached, err = k.hasReached(r, e, condition)
		return reached
	})
	return keep && err == nil, err
}

// hasReached reports whether the event, or another one of its visitor and day, is among the goals of a condition.
func (k *kept) hasReached(r *reading, e *store.Event, condition int) (bool, error) {
	if e.Visitor == 0 {
		return slices.ContainsFunc(k.q.Filter[condition].Goals, func(m store.Match) bool { return colstore.IsMatch(&m, e) }), nil
	}
	if at := e.At.UnixMilli(); k.day == nil || at < k.day.begin || at >= k.day.end {
		p, err := r.population()
		if err != nil {
			return false, err
		}
		k.day = r.dayOf(at)
		if k.reached, err = p.reached(k.day); err != nil {
			return false, err
		}
	}
	return k.reached[e.Visitor]&k.mask(condition) != 0, nil
}

// mask returns the bits of the goals of a condition.
func (k *kept) mask(condition int) (mask uint8) {
	first := 0
	for _, c := range k.q.Filter[:condition] {
		first += len(c.Goals)
	}
	for i := range k.q.Filter[condition].Goals {
		mask |= 1 << (first + i)
	}
	return mask
}
