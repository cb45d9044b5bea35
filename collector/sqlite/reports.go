package sqlite

import (
	"context"
	"errors"

	"github.com/footfall-dev/footfall/collector/sqlite/internal/colstore"
	"github.com/footfall-dev/footfall/collector/store"
)

// populated is like report, with the population of the query.
func (rd *reader) populated(ctx context.Context, q store.Query, f func(*reading, *population) error) error {
	if err := q.Filter.Check(); err != nil {
		return err
	}
	return rd.report(ctx, q, func(r *reading) error {
		p, err := r.population()
		if err != nil {
			return err
		}
		return f(r, &p)
	})
}

// each calls f with the events of a day that are in the population, in batches.
func (p *population) each(d *day, want []colstore.Column, pages bool, work, f func(*colstore.Columns) error) error {
	batches, err := p.of(d, want, pages, work)
	if err != nil {
		return err
	}
	for c, err := range batches {
		if err == nil {
			err = f(c)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (rd *reader) eachProp(ctx context.Context, q store.Query, each func(name string, visitor bool, p store.Prop)) error {
	return rd.populated(ctx, q, func(r *reading, p *population) error {
		return r.days(func(d *day) error {
			return p.each(d, propColumns, false, unchanged, func(c *colstore.Columns) error {
				names, err := r.textsOf(c.Names())
				if err != nil {
					return err
				}
				return c.EachProp(func(name uint32, visitor bool, p store.Prop) { each(names[name], visitor, p) })
			})
		})
	})
}

func (rd *reader) funnel(ctx context.Context, q store.Query, steps []store.Match) (store.Funnel, error) {
	if len(steps) > colstore.MaxMatches {
		return store.Funnel{}, errors.New("sqlite: a funnel has eight steps at most")
	}
	funnel := colstore.NewFunnel(len(steps))
	err := rd.populated(ctx, q, func(r *reading, p *population) error {
		match, err := colstore.NewMatcher(steps, r.idOf)
		if err != nil {
			return err
		}
		want := append(match.Columns(), colstore.At)
		work := func(c *colstore.Columns) error { return match.Select(c, r.textsOf) }
		return r.days(func(d *day) error {
			return p.each(d, want, match.NeedsPages(), work, func(c *colstore.Columns) error {
				funnel.Add(c)
				return nil
			})
		})
	})
	if err != nil {
		return store.Funnel{}, err
	}
	return funnel.Result(), nil
}
