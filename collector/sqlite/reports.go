package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/footfall-dev/footfall/collector/sqlite/internal/colstore"
	"github.com/footfall-dev/footfall/collector/store"
)

// Reports process their range by days and add the days up, which is exact because visitors
// count per day. Whole days with a rollup are read from there.

// totals returns the totals of the span and of its hours.
func (d *span) totals() (colstore.Totals, error) {
	data, found, err := d.rollupPart(colstore.PartTotals)
	switch {
	case err != nil:
		return colstore.Totals{}, err
	case found:
		return colstore.DecodeTotals(data)
	}
	return d.countTotals()
}

func sum(a, b store.Totals) store.Totals {
	return store.Totals{Visitors: a.Visitors + b.Visitors, Pageviews: a.Pageviews + b.Pageviews, Events: a.Events + b.Events}
}

func (rd *reader) totals(ctx context.Context, q store.Query) (store.Totals, error) {
	var all store.Totals
	err := rd.days(ctx, q, func(d *span) error {
		t, err := d.totals()
		all = sum(all, t.Day)
		return err
	})
	return all, err
}

// maxPoints is about a hundred years of hours.
const maxPoints = 1_000_000

func (rd *reader) series(ctx context.Context, q store.Query, step store.Step) ([]store.Point, error) {
	points, err := newSeries(q, step)
	if err != nil {
		return nil, err
	}
	err = rd.days(ctx, q, func(d *span) error {
		t, err := d.totals()
		points.add(d.day, &t)
		return err
	})
	return points.all, err
}

// series are the points of a query.
type series struct {
	all   []store.Point
	step  store.Step
	first int64 // step of the first point, counted from 1970
}

func newSeries(q store.Query, step store.Step) (*series, error) {
	if step != store.Hour && step != store.Day {
		return nil, fmt.Errorf("sqlite: unsupported step %v", time.Duration(step))
	}
	width := time.Duration(step).Milliseconds()
	first := colstore.FloorDiv(millis(q.From), width)
	if q.From.Before(q.To) {
		first = colstore.FloorDiv(q.From.UnixMilli(), width) // q.From may be in the last nanosecond of a step
	}
	s := &series{all: make([]store.Point, 0), step: step, first: first}
	if n := colstore.FloorDiv(millis(q.To)-1, width) - first + 1; n > maxPoints {
		return nil, fmt.Errorf("sqlite: a series of %d points is too long", n)
	} else if n > 0 && q.From.Before(q.To) {
		s.all = make([]store.Point, n)
	}
	for i := range s.all {
		s.all[i].At = timeOf((first + int64(i)) * width)
	}
	return s, nil
}

// add sets the points of a day.
func (s *series) add(day int64, t *colstore.Totals) {
	if s.step == store.Day {
		s.all[day-s.first].Totals = t.Day
		return
	}
	for hour, totals := range t.Hours {
		if totals != (store.Totals{}) {
			s.all[day*24+int64(hour)-s.first].Totals = totals
		}
	}
}

func (rd *reader) top(ctx context.Context, q store.Query, by store.Dimension, limit int) ([]store.Row, error) {
	info, known := by.Info()
	if !known {
		return nil, fmt.Errorf("sqlite: unknown dimension %d", by)
	}
	var rows []store.Row
	err := rd.report(ctx, q, func(r *reading) error {
		table, err := r.topTable(info)
		if err == nil {
			rows, err = table.Rows(limit, r.textsOf)
		}
		return err
	})
	return rows, err
}

// topTable counts the values of a dimension.
func (r *reading) topTable(of *store.DimensionInfo) (*colstore.TopTable, error) {
	all := colstore.NewTopTable(of)
	var days [][]byte
	err := r.days(func(d *span) error {
		table, found, err := d.rollupPart(colstore.TopPart(of.By))
		switch {
		case err != nil:
			return err
		case found:
			days = append(days, table)
			return nil
		}
		return all.CountDay(d.batches(all.Columns(), false))
	})
	if err != nil {
		return nil, err
	}
	return all, all.Merge(days)
}

func (rd *reader) props(ctx context.Context, q store.Query, event string, limit int) (all store.PropReport, err error) {
	err = rd.readOf(ctx, q, event, func(r *reading, id uint32) error {
		days, err := r.propTables(id)
		if err != nil {
			return err
		}
		if all.Rows, err = colstore.MergePropTables(r.ctx, days, limit); err == nil {
			all.Numbers, err = colstore.SumProps(r.ctx, days, limit)
		}
		return err
	})
	return all, err
}

// propTables returns encoded tables of the props of events with a name, of all days.
func (r *reading) propTables(name uint32) (all [][]byte, err error) {
	left := r.reader.maxPropBytes
	err = r.days(func(d *span) error {
		tables, err := d.propTables(name, left)
		for _, table := range tables {
			left -= len(table)
		}
		if left < 0 && err == nil {
			err = store.ErrTooLarge
		}
		all = append(all, tables...)
		return err
	})
	return all, err
}

func (rd *reader) eachProp(ctx context.Context, q store.Query, each func(name string, visitor bool, p store.Prop)) error {
	return rd.days(ctx, q, func(d *span) error {
		for c, err := range d.batches(propColumns, false) {
			if err != nil {
				return err
			}
			names, err := d.textsOf(c.Names())
			if err != nil {
				return err
			}
			err = c.EachProp(func(name uint32, visitor bool, p store.Prop) { each(names[name], visitor, p) })
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// propTables counts the props of events with a name, as encoded tables with at most this many
// bytes.
func (d *span) propTables(name uint32, most int) ([][]byte, error) {
	data, found, err := d.rollupPart(colstore.PartProps)
	switch {
	case err != nil:
		return nil, err
	case found:
		table, err := colstore.FindTable(data, name)
		return [][]byte{bytes.Clone(table)}, err // without the tables of other names
	}
	tables, err := d.countProps(func(id uint32) bool { return id == name }, most)
	return tables[name], err
}

func (rd *reader) count(ctx context.Context, q store.Query, m store.Match) (store.Row, error) {
	var all colstore.Tally
	err := rd.report(ctx, q, func(r *reading) error {
		match, err := colstore.NewMatcher([]store.Match{m}, r.idOf)
		if err != nil {
			return err
		}
		value, by, inTable := colstore.OnlyValue(m)
		id, found := uint32(0), false
		if inTable {
			if id, found, err = r.idOf(value); err != nil || !found {
				return err
			}
		}
		return r.days(func(d *span) (err error) {
			t, found := colstore.Tally{}, false
			if inTable {
				t, found, err = d.rolledTally(id, by)
			}
			if err == nil && !found {
				t, err = d.countMatches(match)
			}
			all.Add(t)
			return err
		})
	})
	return store.Row{Count: all.Count, Visitors: all.Visitors}, err
}

// rolledTally returns the counts of a value in the day's rollup, if there is one.
func (d *span) rolledTally(id uint32, by store.Dimension) (t colstore.Tally, found bool, err error) {
	table, found, err := d.rollupPart(colstore.TopPart(by))
	if err == nil && found {
		t, err = colstore.FindTally(table, id)
	}
	return t, found, err
}

// countMatches counts the events of the span that match.
func (d *span) countMatches(match *colstore.Matcher) (colstore.Tally, error) {
	c, err := colstore.Join(d.matches(match))
	if err != nil {
		return colstore.Tally{}, err
	}
	return c.Tally(), nil
}

func (rd *reader) funnel(ctx context.Context, q store.Query, steps []store.Match) (store.Funnel, error) {
	if len(steps) > colstore.MaxMatches {
		return store.Funnel{}, errors.New("sqlite: a funnel has eight steps at most")
	}
	funnel := colstore.NewFunnel(len(steps))
	err := rd.report(ctx, q, func(r *reading) error {
		match, err := colstore.NewMatcher(steps, r.idOf)
		if err != nil {
			return err
		}
		return r.days(func(d *span) error {
			for c, err := range d.matches(match, colstore.At) {
				if err != nil {
					return err
				}
				funnel.Add(c)
			}
			return nil
		})
	})
	if err != nil {
		return store.Funnel{}, err
	}
	return funnel.Result(), nil
}
