package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/footfall-dev/footfall/collector/store"
)

// Reports process their range by days and add the days up, which is exact because visitors
// count per day. Whole days with a rollup are read from there.

// totals returns the totals of the span and of its hours.
func (d *span) totals() (store.Totals, [24]store.Totals, error) {
	if d.full() && d.rolled {
		data, err := d.part(partTotals)
		if err != nil {
			return store.Totals{}, [24]store.Totals{}, err
		}
		return decodeTotals(data)
	}
	return d.count()
}

// count counts the events of the span.
func (d *span) count() (store.Totals, [24]store.Totals, error) {
	c, err := d.columns(at, visitor, name)
	if err != nil {
		return store.Totals{}, [24]store.Totals{}, err
	}
	day, hours := c.totals()
	return day, hours, nil
}

func sum(a, b store.Totals) store.Totals {
	return store.Totals{Visitors: a.Visitors + b.Visitors, Pageviews: a.Pageviews + b.Pageviews, Events: a.Events + b.Events}
}

// Totals implements store.Store.
func (s *Store) Totals(ctx context.Context, q store.Query) (store.Totals, error) {
	var all store.Totals
	err := s.days(ctx, q, func(d *span) error {
		day, _, err := d.totals()
		all = sum(all, day)
		return err
	})
	return all, err
}

// maxPoints is about a hundred years of hours.
const maxPoints = 1_000_000

// Series implements store.Store.
func (s *Store) Series(ctx context.Context, q store.Query, step store.Step) ([]store.Point, error) {
	if step != store.Hour && step != store.Day {
		return nil, fmt.Errorf("sqlite: no series of steps of %v", time.Duration(step))
	}
	width := time.Duration(step).Milliseconds()
	first := floorDiv(millis(q.From), width)
	if q.From.Before(q.To) {
		first = floorDiv(q.From.UnixMilli(), width) // q.From may be in the last nanosecond of a step
	}
	points := make([]store.Point, 0)
	if n := floorDiv(millis(q.To)-1, width) - first + 1; n > maxPoints {
		return nil, fmt.Errorf("sqlite: a series of %d points is too long", n)
	} else if n > 0 && q.From.Before(q.To) {
		points = make([]store.Point, n)
	}
	for i := range points {
		points[i].At = timeOf((first + int64(i)) * width)
	}
	err := s.days(ctx, q, func(d *span) error {
		day, hours, err := d.totals()
		if err != nil {
			return err
		}
		if step == store.Day {
			points[d.day-first].Totals = day
			return nil
		}
		for hour, t := range hours {
			if t != (store.Totals{}) {
				points[d.day*24+int64(hour)-first].Totals = t
			}
		}
		return nil
	})
	return points, err
}

// Top implements store.Store.
func (s *Store) Top(ctx context.Context, q store.Query, by store.Dimension, limit int) ([]store.Row, error) {
	if int(by) >= len(dimensionColumns) {
		return nil, fmt.Errorf("sqlite: there is no dimension %d", by)
	}
	var rows []store.Row
	err := s.read(ctx, q, func(r *reading) (err error) {
		of, err := r.top(by)
		if err == nil {
			rows, err = of.first(r, limit)
		}
		return err
	})
	return rows, err
}

// top counts the values of a dimension.
func (r *reading) top(by store.Dimension) (*tops, error) {
	of := newTops(by)
	var tables [][]byte
	err := r.days(func(d *span) error {
		if !d.full() || !d.rolled {
			return of.count(d)
		}
		table, err := d.part(partTop + int(by))
		tables = append(tables, table)
		return err
	})
	if err != nil {
		return nil, err
	}
	return of, of.merge(tables)
}

// pairsOf returns the counts of the props of events with a name, as an encoded table.
func (d *span) pairsOf(event uint32) ([]byte, error) {
	if d.full() && d.rolled {
		data, err := d.part(partProps)
		if err != nil {
			return nil, err
		}
		return pairsOf(event, data)
	}
	byName, err := d.pairs(func(name uint32) bool { return name == event })
	if err != nil || byName[event] == nil {
		return nil, err
	}
	return byName[event].encode(), nil
}

// Props implements store.Store.
func (s *Store) Props(ctx context.Context, q store.Query, event string, limit int) ([]store.PropRow, error) {
	var rows []store.PropRow
	err := s.read(ctx, q, func(r *reading) error {
		id, found, err := r.nameID(event)
		if err != nil || !found {
			return err
		}
		var tables [][]byte
		err = r.days(func(d *span) error {
			table, err := d.pairsOf(id)
			tables = append(tables, table)
			return err
		})
		if err != nil {
			return err
		}
		rows, err = mergePairs(tables, limit)
		return err
	})
	return rows, err
}

// nameID is like idOf for the name of an event. Pageviews have no name and ID 0.
func (r *reading) nameID(name string) (id uint32, found bool, err error) {
	if name == "" {
		return 0, true, nil
	}
	return r.idOf(name)
}

// Count implements store.Store.
func (s *Store) Count(ctx context.Context, q store.Query, m store.Match) (store.Row, error) {
	var all tally
	err := s.read(ctx, q, func(r *reading) error {
		match, err := r.matcher(m)
		if err != nil {
			return err
		}
		value, by, inTable := plain(m)
		id, found := uint32(0), false
		if inTable {
			if id, found, err = r.idOf(value); err != nil || !found {
				return err
			}
		}
		return r.days(func(d *span) (err error) {
			var t tally
			if inTable && d.full() && d.rolled {
				t, err = d.tallyOf(id, by)
			} else {
				t, err = d.matched(match)
			}
			all.add(t)
			return err
		})
	})
	return store.Row{Count: all.count, Visitors: all.visitors}, err
}

// tallyOf returns the counts of a value in the day's rollup.
func (d *span) tallyOf(id uint32, by store.Dimension) (tally, error) {
	data, err := d.part(partTop + int(by))
	if err != nil {
		return tally{}, err
	}
	return tallyIn(data, id)
}

// matched counts the events of the span that match.
func (d *span) matched(match *matcher) (t tally, err error) {
	c, err := d.matching(match)
	if err != nil {
		return t, err
	}
	met := make([]bool, len(c.visitor.values))
	for _, v := range c.visitor.of {
		t.count++
		if v != 0 && !met[v] {
			met[v] = true
			t.visitors++
		}
	}
	return t, nil
}
