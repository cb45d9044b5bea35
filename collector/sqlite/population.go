package sqlite

import (
	"slices"

	"github.com/footfall-dev/footfall/collector/sqlite/internal/colstore"
	"github.com/footfall-dev/footfall/collector/store"
)

// population is the events of a query.
type population struct {
	filter *colstore.Filter // nil for all events
	one    bool             // all events have one name, or none of them has one
	only   bool             // and they are all events with this name
	name   uint32           // ID of the name
	none   bool             // no event has the name
}

func (r *reading) population() (p population, err error) {
	if p.filter, err = colstore.NewFilter(r.q.Filter, r.idOf); err != nil {
		return p, err
	}
	name, one := r.q.Filter.Name()
	if !one {
		return p, nil
	}
	p.one, p.only = true, len(r.q.Filter) == 1
	var found bool
	p.name, found, err = r.nameID(name)
	p.none = !found
	return p, err
}

// named reports whether the population is all events with one name, for which rollups have parts.
func (p *population) named() bool { return p.only && p.name != 0 }

// of returns the events of the day that are in the population, after work on each batch.
func (p *population) of(d *day, want []colstore.Column, pages bool, work func(*colstore.Columns) error) (colstore.Batches, error) {
	sel := selection{want: want, pages: pages, filter: p.filter, work: work}
	if p.filter == nil {
		return d.batches(sel), nil
	}
	columns, texts := p.filter.Columns()
	sel.want = slices.Concat([]colstore.Column{colstore.Visitor}, want, columns)
	slices.Sort(sel.want)
	sel.want, sel.pages = slices.Compact(sel.want), pages || texts
	var err error
	sel.reached, err = p.reached(d)
	return d.batches(sel), err
}

// batches returns the batches of a selection.
func (d *day) batches(sel selection) colstore.Batches {
	return func(yield func(*colstore.Columns, error) bool) {
		for _, s := range d.spans {
			for c, err := range s.batchesOf(sel) {
				if !yield(c, err) || err != nil {
					return
				}
			}
		}
	}
}

// unchanged is no work on a batch.
func unchanged(*colstore.Columns) error { return nil }

// reached returns the visitors of the day who have reached the goals of the filter.
func (p *population) reached(d *day) (colstore.Reached, error) {
	goals := p.filter.Goals()
	if goals == nil {
		return nil, nil
	}
	all := make(colstore.Reached)
	for _, s := range d.spans {
		for c, err := range s.matches(goals) {
			if err != nil {
				return nil, err
			}
			all.Add(c)
		}
	}
	return all, nil
}

// misses reports whether rollups say that the day has no event of the population.
func (p *population) misses(d *day) (bool, error) {
	if p.none {
		return true, nil
	}
	for _, s := range d.spans {
		if none, err := p.missesSpan(s); !none || err != nil {
			return false, err
		}
	}
	return true, nil
}

func (p *population) missesSpan(d *span) (bool, error) {
	if p.filter == nil {
		return false, nil
	}
	field, ids, ok := p.filter.Requires()
	if !ok {
		return false, nil
	}
	for _, counts := range []store.Counts{store.Pageviews, store.Events} {
		if field == store.Name && counts == store.Pageviews {
			continue // they have no name
		}
		part, ok := colstore.TopPart(store.Dimension{Field: field, Counts: counts})
		if !ok {
			return false, nil
		}
		table, found, err := d.rollupPart(part)
		if err != nil || !found {
			return false, err
		}
		for _, id := range ids {
			if n, err := colstore.FindTally(table, id); err != nil || n.Count > 0 {
				return false, err
			}
		}
	}
	return true, nil
}
