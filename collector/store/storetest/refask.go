package storetest

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/footfall-dev/footfall/collector/store"
)

// in returns the events of q, by At, then in the order of adding.
func (r *Reference) in(q store.Query) []store.Event {
	if !r.sorted {
		slices.SortStableFunc(r.events, func(a, b store.Event) int { return a.At.Compare(b.At) })
		r.sorted = true
	}
	var found []store.Event
	for _, e := range r.events {
		if e.Site == q.Site && !e.At.Before(q.From) && e.At.Before(q.To) {
			found = append(found, e)
		}
	}
	return selected(found, q)
}

// local returns events with their times in the zone of a query.
func local(events []store.Event, q store.Query) []store.Event {
	all := slices.Clone(events)
	for i := range all {
		all[i].At = all[i].At.In(cmp.Or(q.Zone, time.UTC))
	}
	return all
}

// daily is a visitor on a day of a zone.
type daily struct {
	day     int
	visitor uint64
}

func dailyOf(e store.Event) daily { return daily{dayOf(e.At), e.Visitor} }

// dayOf returns the latest date that clocks have shown until a time. They may show an earlier one again.
func dayOf(at time.Time) int {
	changed, _ := at.ZoneBounds()
	return max(dateOf(at), dateOf(changed.Add(-time.Second)))
}

// dateOf returns a date as a number: 20260131.
func dateOf(t time.Time) int { return t.Year()*10000 + int(t.Month())*100 + t.Day() }

// selected returns the events that meet all conditions, which it checks one after the other.
func selected(all []store.Event, q store.Query) []store.Event {
	events := local(all, q)
	kept := events
	for _, c := range q.Filter {
		holds := func(e store.Event) bool { return holds(c, e) }
		if c.Field == store.Goal {
			holds = reached(c.Goals, events)
		}
		negated := c.Op == store.IsNot || c.Op == store.ContainsNot
		var next []store.Event
		for _, e := range kept {
			if holds(e) != negated {
				next = append(next, e)
			}
		}
		kept = next
	}
	for i := range kept {
		kept[i].At = kept[i].At.UTC()
	}
	return kept
}

// holds reports whether an event has one of the values of a condition, or one that contains it.
func holds(c store.Condition, e store.Event) bool {
	var values []string
	if c.Field == store.PropOf {
		for _, p := range e.Props {
			if p.Key == c.Key {
				values = append(values, p.Value)
			}
		}
	} else {
		values = append(values, *c.Field.Of(&e))
	}
	for _, value := range values {
		for _, want := range c.Values {
			if value == want && (c.Op == store.Is || c.Op == store.IsNot) {
				return true
			}
			if (c.Op == store.Contains || c.Op == store.ContainsNot) && strings.Contains(strings.ToLower(value), strings.ToLower(want)) {
				return true
			}
		}
	}
	return false
}

// reached returns whether an event, or another one of its visitor and day, is among some matches.
func reached(goals []store.Match, events []store.Event) func(store.Event) bool {
	matching := func(e store.Event) bool {
		return slices.ContainsFunc(goals, func(m store.Match) bool { return matches(m, e) })
	}
	of := make(map[daily]bool)
	for _, e := range events {
		if e.Visitor != 0 && matching(e) {
			of[dailyOf(e)] = true
		}
	}
	return func(e store.Event) bool { return matching(e) || of[dailyOf(e)] }
}

// Ask implements store.Store.
func (r *Reference) Ask(ctx context.Context, q store.Query, questions ...store.Question) ([]store.Answer, error) {
	leave, err := r.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	var answers []store.Answer
	var events []store.Event
	for i, question := range questions {
		if err := question.Check(q); err != nil {
			return nil, err
		}
		if i == 0 {
			events = local(r.in(q), q)
		}
		answer, err := answer(slices.Clone(events), q, question)
		if err != nil {
			return nil, err
		}
		answers = append(answers, answer)
	}
	return answers, nil
}

func answer(events []store.Event, q store.Query, question store.Question) (a store.Answer, err error) {
	events = slices.DeleteFunc(events, func(e store.Event) bool { return !question.Counts.Event(e.Name) })
	switch {
	case question.Step != 0:
		a.Points = points(events, q, question.Step)
	case len(question.Goals) > 0:
		for _, goal := range question.Goals {
			matching := slices.DeleteFunc(slices.Clone(events), func(e store.Event) bool { return !matches(goal, e) })
			a.Rows = append(a.Rows, store.Row{Count: int64(len(matching)), Visitors: visitors(matching)})
		}
	case question.By == store.Props:
		a.Props, a.Numbers = allProps(events, question.Limit), numbers(events, question.Limit)
	case question.By != "":
		return table(events, question)
	default:
		a.Totals = totals(events)
	}
	return a, nil
}

// table returns the rows of a question with By.
func table(events []store.Event, q store.Question) (a store.Answer, err error) {
	of := make(map[string][]store.Event)
	for _, e := range events {
		if q.By != store.PropOf {
			if text := *q.By.Of(&e); q.By.HasRow(text) && (len(q.Values) == 0 || slices.Contains(q.Values, text)) {
				of[text] = append(of[text], e)
			}
			continue
		}
		for _, p := range e.Props {
			if p.Key == q.Key && (len(q.Values) == 0 || slices.Contains(q.Values, p.Value)) {
				of[p.Value] = append(of[p.Value], e)
			}
		}
	}
	if len(of) > store.MaxRows && (q.By == store.PropOf || q.Number != "") {
		return a, store.ErrTooLarge
	}
	all := rows(of, q.Order, q.Number)
	all = slices.DeleteFunc(all, func(r store.Row) bool { return !strings.Contains(strings.ToLower(r.Value), strings.ToLower(q.Search)) })
	all = all[min(len(all), max(q.Offset, 0)):]
	a.More = len(all) > max(q.Limit, 0)
	a.Rows = all[:min(len(all), max(q.Limit, 0))]
	return a, nil
}

func rows(of map[string][]store.Event, order store.Order, number string) (all []store.Row) {
	for value, events := range of {
		row := store.Row{Value: value, Count: int64(len(events)), Visitors: visitors(events)}
		for _, e := range events {
			row.Sum += numberIn(e, number)
		}
		all = append(all, row)
	}
	slices.SortFunc(all, func(a, b store.Row) int {
		return cmp.Or(cmp.Compare(order.Key(b.Count, b.Visitors), order.Key(a.Count, a.Visitors)), cmp.Compare(a.Value, b.Value))
	})
	return all
}

func numberIn(e store.Event, key string) float64 {
	for _, p := range e.Props {
		if p.Key == key && p.Numeric {
			if n, err := strconv.ParseFloat(p.Value, 64); err == nil {
				return n
			}
		}
	}
	return 0
}

func totals(events []store.Event) store.Totals {
	t := store.Totals{Visitors: visitors(events)}
	for _, e := range events {
		if e.Name == "" {
			t.Pageviews++
		} else {
			t.Events++
		}
	}
	return t
}

// visitors counts distinct visitors per day and adds the days up.
func visitors(events []store.Event) int64 {
	seen := make(map[daily]bool)
	for _, e := range events {
		if e.Visitor != 0 {
			seen[dailyOf(e)] = true
		}
	}
	return int64(len(seen))
}

// quarter is a length of time into which the steps of all zones can be divided today.
const quarter = 15 * time.Minute

// stepOf returns the step of a time: its day, or its hour with the offset of the clock.
func stepOf(at time.Time, step store.Step) string {
	if step == store.Day {
		return strconv.Itoa(dayOf(at))
	}
	return at.Format("2006-01-02T15-0700")
}

// points counts events in steps. They are sorted by time.
func points(events []store.Event, q store.Query, step store.Step) (all []store.Point) {
	if !q.From.Before(q.To) {
		return nil
	}
	at := q.From.In(cmp.Or(q.Zone, time.UTC)).Truncate(quarter)
	for stepOf(at.Add(-quarter), step) == stepOf(at, step) {
		at = at.Add(-quarter)
	}
	for at.Before(q.To) {
		begin := at
		for stepOf(at, step) == stepOf(begin, step) {
			at = at.Add(quarter)
		}
		n := 0
		for n < len(events) && events[n].At.Before(at) {
			n++
		}
		all = append(all, store.Point{At: begin.UTC(), Totals: totals(events[:n])})
		events = events[n:]
	}
	return all
}
