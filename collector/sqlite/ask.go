package sqlite

import (
	"context"
	"slices"

	"github.com/footfall-dev/footfall/collector/sqlite/internal/colstore"
	"github.com/footfall-dev/footfall/collector/store"
)

// Reports process their range by days and add the days up, which is exact because visitors
// count per day. Figures of whole UTC days are read from rollups, if these have them. The events of other days are read once for all
// questions.

// asked is a question and what was counted for it.
type asked interface {
	// day adds the figures of a day from its rollup, or returns counters that must count the events of the day.
	day(d *day) ([]colstore.Counter, error)

	// answer returns the answer once all days are counted.
	answer(r *reading) (store.Answer, error)
}

func (rd *reader) ask(ctx context.Context, q store.Query, questions []store.Question) ([]store.Answer, error) {
	for i := range questions {
		if err := questions[i].Check(q); err != nil {
			return nil, err
		}
	}
	answers := make([]store.Answer, len(questions))
	for i := range questions {
		answers[i] = unasked(q, &questions[i])
	}
	err := rd.populated(ctx, q, func(r *reading, p *population) (err error) {
		all := make([]asked, len(questions))
		for i := range questions {
			if all[i], err = r.newAsked(p, &questions[i]); err != nil {
				return err
			}
		}
		if err := r.days(func(d *day) error { return countDay(d, p, all) }); err != nil {
			return err
		}
		for i, a := range all {
			if answers[i], err = a.answer(r); err != nil {
				return err
			}
		}
		return nil
	})
	return answers, err
}

// unasked returns the answer without events.
func unasked(q store.Query, question *store.Question) (a store.Answer) {
	if question.Step != 0 {
		a.Points = newSeries(q, question.Step).all
	}
	for range question.Goals {
		a.Rows = append(a.Rows, store.Row{})
	}
	return a
}

// countDay adds a day to all questions.
func countDay(d *day, p *population, all []asked) error {
	if none, err := p.misses(d); none || err != nil {
		return err
	}
	var counters []colstore.Counter
	for _, a := range all {
		more, err := a.day(d)
		if err != nil {
			return err
		}
		counters = append(counters, more...)
	}
	if len(counters) == 0 {
		return nil
	}
	columns, pages := colstore.Needs(counters)
	batches, err := p.of(d, columns, pages, unchanged)
	if err != nil {
		return err
	}
	return colstore.Count(batches, counters...)
}

func (r *reading) newAsked(p *population, q *store.Question) (asked, error) {
	switch {
	case len(q.Goals) > 0:
		return r.newAskedGoals(p, q.Goals)
	case q.By == store.Props:
		return &askedProps{p: p, limit: q.Limit, left: r.reader.maxPropBytes}, nil
	case q.By == store.PropOf:
		return &askedValues{colstore.NewValueTable(q)}, nil
	case q.By != "":
		of := store.Dimension{Field: q.By, Counts: q.Counts}
		return &askedTable{p: p, q: q, of: of, all: colstore.NewSumTable(of, q.Number)}, nil
	}
	return newAskedTotals(p, r.q, q), nil
}

// askedTotals is a question for totals, or for the totals of steps.
type askedTotals struct {
	p      *population
	counts store.Counts
	all    store.Totals
	points *series // nil without steps
}

func newAskedTotals(p *population, of store.Query, q *store.Question) *askedTotals {
	a := &askedTotals{p: p, counts: q.Counts}
	if q.Step != 0 {
		a.points = newSeries(of, q.Step)
	}
	return a
}

func (a *askedTotals) day(d *day) ([]colstore.Counter, error) {
	var hours []int64
	if a.points != nil {
		hours = a.points.hoursOf(d)
	}
	add := func(all store.Totals, ofHours []store.Totals) { a.add(d, all, ofHours) }
	if hours == nil || slices.Equal(hours, colstore.HoursOf(d.spans[0].day)) {
		totals, found, err := a.rolled(d)
		if err != nil {
			return nil, err
		}
		if found {
			add(totals.Day, totals.Hours[:])
			return nil, nil
		}
	}
	return []colstore.Counter{&colstore.TotalsCounter{Counts: a.counts, Hours: hours, Each: add}}, nil
}

// rolled returns the totals of a day from its rollup.
func (a *askedTotals) rolled(d *day) (t colstore.Totals, found bool, err error) {
	var data []byte
	switch {
	case a.p.filter == nil && a.counts == store.All:
		if data, found, err = d.rollupPart(colstore.PartTotals); found && err == nil {
			t, err = colstore.DecodeTotals(data)
		}
	case a.p.named() && a.counts != store.Pageviews:
		if data, found, err = d.rolledTable(colstore.PartEventHours, a.p.name); found && err == nil {
			t, err = colstore.DecodeHours(data)
		}
	}
	return t, found, err
}

// rolledTable returns the table of a name in a part of the day's rollup.
func (d *day) rolledTable(part int, name uint32) (table []byte, found bool, err error) {
	data, found, err := d.rollupPart(part)
	if err == nil && found {
		table, err = colstore.FindTable(data, name)
	}
	return table, found, err
}

func (a *askedTotals) add(d *day, all store.Totals, hours []store.Totals) {
	if a.points != nil {
		a.points.add(d, all, hours)
		return
	}
	a.all = a.all.Plus(all)
}

func (a *askedTotals) answer(*reading) (store.Answer, error) {
	if a.points != nil {
		return store.Answer{Points: a.points.all}, nil
	}
	return store.Answer{Totals: a.all}, nil
}

// askedTable is a question for the texts of a field.
type askedTable struct {
	p      *population
	q      *store.Question
	of     store.Dimension
	all    *colstore.TopTable
	rolled [][]byte // tables of days
}

func (a *askedTable) day(d *day) ([]colstore.Counter, error) {
	var table []byte
	var found bool
	var err error
	if part, ok := colstore.TopPart(a.of); ok && a.p.filter == nil && a.q.Number == "" {
		table, found, err = d.rollupPart(part)
	} else if a.p.named() && a.of == store.EventPages && a.q.Number == "" {
		table, found, err = d.rolledTable(colstore.PartEventPages, a.p.name)
	}
	if err != nil {
		return nil, err
	}
	if !found {
		return []colstore.Counter{a.all}, nil
	}
	if len(table) > 0 {
		a.rolled = append(a.rolled, table)
	}
	return nil, nil
}

func (a *askedTable) answer(r *reading) (answer store.Answer, err error) {
	if err := a.all.Merge(a.rolled); err != nil {
		return answer, err
	}
	ids, err := r.idsOf(a.q.Values)
	if err != nil {
		return answer, err
	}
	answer.Rows, answer.More, err = a.all.Rows(a.q, ids, r.textsOf)
	return answer, err
}

// idsOf returns the IDs of the values that an event has.
func (r *reading) idsOf(values []string) (map[uint32]bool, error) {
	all := make(map[uint32]bool)
	for _, value := range values {
		id, found, err := r.idOf(value)
		if err != nil {
			return nil, err
		}
		if found || value == "" {
			all[id] = true // the empty text has the ID 0
		}
	}
	return all, nil
}

// askedValues is a question for the values of a prop.
type askedValues struct{ all *colstore.ValueTable }

func (a *askedValues) day(*day) ([]colstore.Counter, error) {
	return []colstore.Counter{a.all}, nil
}

func (a *askedValues) answer(*reading) (answer store.Answer, err error) {
	answer.Rows, answer.More = a.all.Rows()
	return answer, nil
}

// askedGoals is a question for goals.
type askedGoals []*goalGroup

// goalGroup are goals that are counted together.
type goalGroup struct {
	of      []store.Match
	inTable bool // rollups have a row for each
	counter *colstore.GoalCounter
	rolled  []colstore.Tally
}

func (r *reading) newAskedGoals(p *population, goals []store.Match) (asked, error) {
	var all askedGoals
	for some := range slices.Chunk(goals, colstore.MaxMatches) {
		match, err := colstore.NewMatcher(some, r.idOf)
		if err != nil {
			return nil, err
		}
		g := &goalGroup{of: some, inTable: p.filter == nil, counter: colstore.NewGoalCounter(match, r.textsOf), rolled: make([]colstore.Tally, len(some))}
		for _, m := range some {
			_, _, ok := colstore.OnlyValue(m)
			g.inTable = g.inTable && ok
		}
		all = append(all, g)
	}
	return all, nil
}

func (a askedGoals) day(d *day) (counters []colstore.Counter, err error) {
	for _, g := range a {
		found, err := g.addRolled(d)
		if err != nil {
			return nil, err
		}
		if !found {
			counters = append(counters, g.counter)
		}
	}
	return counters, nil
}

// addRolled adds the counts in the day's rollup, if it has all of them.
func (g *goalGroup) addRolled(d *day) (found bool, err error) {
	if !g.inTable {
		return false, nil
	}
	tallies := make([]colstore.Tally, len(g.of))
	for i, m := range g.of {
		if tallies[i], found, err = d.rolledTally(m); err != nil || !found {
			return false, err
		}
	}
	for i, n := range tallies {
		g.rolled[i].Add(n)
	}
	return true, nil
}

// rolledTally returns the counts of a match of one text in the day's rollup, if there is one.
func (d *day) rolledTally(m store.Match) (t colstore.Tally, found bool, err error) {
	value, by, _ := colstore.OnlyValue(m)
	part, _ := colstore.TopPart(by)
	table, found, err := d.rollupPart(part)
	if err != nil || !found {
		return t, false, err
	}
	id, known, err := d.idOf(value)
	if err == nil && known {
		t, err = colstore.FindTally(table, id)
	}
	return t, true, err
}

func (a askedGoals) answer(*reading) (answer store.Answer, err error) {
	for _, g := range a {
		for i, n := range g.counter.Tallies() {
			n.Add(g.rolled[i])
			answer.Rows = append(answer.Rows, store.Row{Count: n.Count, Visitors: n.Visitors})
		}
	}
	return answer, nil
}
