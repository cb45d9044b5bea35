package sqlite

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/footfall-dev/footfall/collector/store"
)

// Each report goes through the days of its range and adds them up, which is exact: a
// visitor counts once for each day. A whole day that has a rollup is taken from there.

// totals returns those of the span and of the hours in it.
func (d *span) totals() (store.Totals, [24]store.Totals, error) {
	if d.whole() && d.rolled {
		data, err := d.part(partTotals)
		if err != nil {
			return store.Totals{}, [24]store.Totals{}, err
		}
		return decodeTotals(data)
	}
	c, err := d.columns(visitor, name)
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

// maxPoints is about a hundred years of hours: more is a mistake.
const maxPoints = 1_000_000

// Series implements store.Store.
func (s *Store) Series(ctx context.Context, q store.Query, step store.Step) ([]store.Point, error) {
	if step != store.Hour && step != store.Day {
		return nil, fmt.Errorf("sqlite: no series of steps of %v", time.Duration(step))
	}
	width := time.Duration(step).Milliseconds()
	first := floorDiv(millis(q.From), width)
	if q.From.Before(q.To) {
		first = floorDiv(q.From.UnixMilli(), width) // it may be the last nanosecond of a step
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

// mergeTop adds what each value of a dimension was counted.
func (d *span) mergeTop(into map[uint32]tally, by store.Dimension) error {
	if d.whole() && d.rolled {
		data, err := d.part(partTop + int(by))
		if err != nil {
			return err
		}
		return mergeTop(into, data)
	}
	want := []string{visitor, name}
	if column := dimensionColumns[by]; column != name {
		want = append(want, column)
	}
	c, err := d.scan(d.from, d.to, want...)
	if err != nil {
		return err
	}
	for id, t := range c.top(by) {
		all := into[id]
		all.add(t)
		into[id] = all
	}
	return nil
}

// Top implements store.Store.
func (s *Store) Top(ctx context.Context, q store.Query, by store.Dimension, limit int) ([]store.Row, error) {
	if int(by) >= len(dimensionColumns) {
		return nil, fmt.Errorf("sqlite: there is no dimension %d", by)
	}
	var rows []store.Row
	of := make(map[uint32]tally)
	err := s.days(ctx, q, func(d *span) error { return d.mergeTop(of, by) })
	if err != nil || len(of) == 0 {
		return nil, err
	}
	err = s.read(ctx, q, func(r *reading) (err error) {
		rows, err = r.first(of, limit)
		return err
	})
	return rows, err
}

// first returns the rows that come first. Only the texts of those whose count is not
// below that of the last one are looked up.
func (r *reading) first(of map[uint32]tally, limit int) ([]store.Row, error) {
	if limit <= 0 {
		return nil, nil
	}
	ids := make([]uint32, 0, len(of))
	for id := range of {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b uint32) int { return cmp.Compare(of[b].count, of[a].count) })
	if limit < len(ids) {
		last := of[ids[limit-1]].count
		end := limit
		for end < len(ids) && of[ids[end]].count == last {
			end++
		}
		ids = ids[:end]
	}
	texts, err := r.textsOf(ids)
	if err != nil {
		return nil, err
	}
	rows := make([]store.Row, len(ids))
	for i, id := range ids {
		rows[i] = store.Row{Value: texts[id], Count: of[id].count, Visitors: of[id].visitors}
	}
	slices.SortFunc(rows, func(a, b store.Row) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Value, b.Value))
	})
	return rows[:min(limit, len(rows))], nil
}

// mergePairs adds what each prop of the events of a name was counted.
func (d *span) mergePairs(into *pairs, event uint32) error {
	if d.whole() && d.rolled {
		data, err := d.part(partProps)
		if err != nil {
			return err
		}
		return mergePairs(into, event, data)
	}
	c, err := d.columns(visitor, name, props)
	if err != nil {
		return err
	}
	byName, err := c.pairs(func(name uint32) bool { return name == event })
	if err != nil || byName[event] == nil {
		return err
	}
	for i, p := range byName[event].rows {
		into.tally[into.member(p)].add(byName[event].tally[i])
	}
	return nil
}

// Props implements store.Store.
func (s *Store) Props(ctx context.Context, q store.Query, event string, limit int) ([]store.PropRow, error) {
	table := newPairs()
	err := s.days(ctx, q, func(d *span) error {
		id, found, err := d.nameID(event)
		if err != nil || !found {
			return err
		}
		return d.mergePairs(table, id)
	})
	if err != nil {
		return nil, err
	}
	var rows []store.PropRow
	taken, key := 0, ""
	for _, i := range table.sorted() {
		p, t := table.rows[i], table.tally[i]
		if p.key != key {
			taken, key = 0, p.key
		}
		if taken++; taken <= limit {
			rows = append(rows, store.PropRow{Key: key, Row: store.Row{Value: p.value, Count: t.count, Visitors: t.visitors}})
		}
	}
	return rows, nil
}

// nameID is idOf for the name of an event; pageviews, which have none, have id 0.
func (r *reading) nameID(name string) (id uint32, found bool, err error) {
	if name == "" {
		return 0, true, nil
	}
	return r.idOf(name)
}

// Count implements store.Store.
func (s *Store) Count(ctx context.Context, q store.Query, m store.Match) (store.Row, error) {
	var all tally
	var match *matcher
	err := s.days(ctx, q, func(d *span) (err error) {
		if value, by, ok := plain(m); ok && d.whole() && d.rolled {
			of := make(map[uint32]tally)
			id, found, err := d.idOf(value)
			if err != nil || !found {
				return err
			}
			err = d.mergeTop(of, by)
			all.add(of[id])
			return err
		}
		if match == nil {
			if match, err = d.matcher(m); err != nil {
				return err
			}
		}
		t, err := d.count(match)
		all.add(t)
		return err
	})
	return store.Row{Count: all.count, Visitors: all.visitors}, err
}

// plain returns the value of a dimension that is all a match asks for, if it is.
func plain(m store.Match) (value string, by store.Dimension, ok bool) {
	switch {
	case m.PropKey != "":
		return "", 0, false
	case m.Event != "":
		return m.Event, store.Names, true
	}
	return m.Page, store.Pages, m.Page != "" && !strings.Contains(m.Page, "*")
}

// count counts the events of the span that match.
func (d *span) count(match *matcher) (t tally, err error) {
	c, err := d.columns(match.columns()...)
	if err != nil {
		return t, err
	}
	masks, err := match.masks(d.reading, c)
	if err != nil {
		return t, err
	}
	met := make([]bool, len(c.visitor.values))
	for i, mask := range masks {
		if mask == 0 {
			continue
		}
		t.count++
		if v := c.visitor.of[i]; v != 0 && !met[v] {
			met[v] = true
			t.visitors++
		}
	}
	return t, nil
}
