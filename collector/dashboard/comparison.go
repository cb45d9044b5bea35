package dashboard

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/footfall-dev/footfall/collector/internal/calendar"
	"github.com/footfall-dev/footfall/collector/internal/localtime"
	"github.com/footfall-dev/footfall/collector/store"
)

// comparison selects the compared time: a page compares its range with it.
type comparison struct {
	Kind     string // one of comparisons; "" compares the headlines only
	Start    string // the first day to compare with, as typed; of compareCustom
	Weekdays bool   // each day is compared with the same day of the week

	start time.Time // Start
}

// Kinds of a comparison.
const (
	comparePrevious = "previous"
	compareYear     = "year"
	compareCustom   = "custom"
	compareNone     = "none"
)

// comparisons are the kinds and their labels.
var comparisons = []periodChoice{
	{"", "The period before, headlines only"}, {comparePrevious, "The period before"}, {compareYear, "The year before"},
	{compareCustom, "Another time"}, {compareNone, "Nothing"},
}

// Kinds are the kinds to choose from.
func (comparison) Kinds() []periodChoice { return comparisons }

// Parameters of a comparison in a URL.
const (
	compareParameter  = "compare"
	startParameter    = "since"
	weekdaysParameter = "weekdays"
)

// readComparison returns the comparison in a query, and what is wrong with it.
func readComparison(query url.Values) (c comparison, problem string) {
	c = comparison{Kind: query.Get(compareParameter), Start: query.Get(startParameter), Weekdays: query.Get(weekdaysParameter) != ""}
	if !slices.ContainsFunc(comparisons, func(k periodChoice) bool { return k.Name == c.Kind }) {
		return comparison{}, "Compare must be previous, year, custom or none."
	}
	if c.Kind != compareCustom {
		c.Start = ""
		return c, ""
	}
	start, err := time.Parse(time.DateOnly, c.Start)
	if err != nil || start.Year() < 1970 || start.Year() > 9900 {
		return comparison{}, "The first day to compare with must be a date such as 2026-01-31."
	}
	c.start = start
	return c, ""
}

func (c comparison) set(v url.Values) {
	for name, value := range map[string]string{compareParameter: c.Kind, startParameter: c.Start} {
		if value != "" {
			v.Set(name, value)
		}
	}
	if c.Weekdays {
		v.Set(weekdaysParameter, "1")
	}
}

// Rows reports whether the chart and the rows of tables compare, too.
func (c comparison) Rows() bool { return c.Kind != "" && c.Kind != compareNone }

// None reports whether nothing compares.
func (c comparison) None() bool { return c.Kind == compareNone }

// daysOf returns the compared days for a span.
func (c comparison) daysOf(s calendar.Span) calendar.Span {
	switch {
	case c.Kind == compareYear && c.Weekdays:
		return s.Moved(-52 * 7)
	case c.Kind == compareYear:
		return s.YearBefore()
	case c.Kind == compareCustom:
		return s.Moved(calendar.DaysBetween(s.From, c.start))
	case c.Weekdays:
		return s.Moved(-7 * ((s.Len() + 6) / 7))
	}
	return s.Neighbour(-1)
}

// until returns the end of the days of daysOf that corresponds to a time within s.
func (c comparison) until(s calendar.Span, now time.Time) time.Time {
	of := c.daysOf(s)
	day := of.From.AddDate(0, 0, calendar.DaysBetween(s.From, now))
	if c.Kind == compareYear && !c.Weekdays {
		day = calendar.Span{From: calendar.Midnight(now), To: calendar.Midnight(now).AddDate(0, 0, 1)}.YearBefore().From
	}
	end := time.Date(day.Year(), day.Month(), day.Day(), now.Hour(), now.Minute(), now.Second(), now.Nanosecond(), now.Location())
	if end.After(of.To) {
		return of.To
	}
	return end
}

// before returns a query of the compared time. If the range includes now, it ends at the
// corresponding time.
func (p period) before(site string) store.Query {
	q := p.beforeInFull(site)
	if p.includesNow() {
		q.To = localtime.At(p.Compare.until(p.Span, p.Now), p.Zone)
	}
	return q
}

// beforeInFull is before without an earlier end.
func (p period) beforeInFull(site string) store.Query {
	return p.queryOf(site, p.Compare.daysOf(p.Span))
}

// Against describes the time of before.
func (p period) Against() string {
	current, days := p.includesNow(), p.Len()
	of := p.Compare.daysOf(p.Span)
	switch plain := of == p.Moved(-days) && p.Compare.Kind == ""; {
	case plain && current && days == 1:
		return "the same hours yesterday"
	case plain && days == 1:
		return "the day before"
	case plain && current:
		return fmt.Sprintf("the %d days before, up to the same time of day", days)
	case plain:
		return fmt.Sprintf("the %d days before", days)
	case current:
		return textOf(of) + ", up to the same time of day"
	}
	return textOf(of)
}

// earlier has the figures of the compared time.
type earlier struct {
	totals store.Totals
	rows   map[store.Dimension]map[string]int64 // counts of the values of tables; nil if rows do not compare
}

// earlier asks for the figures of the compared time. It asks a table only for the rows that the page shows.
func (b *board) earlier(ctx context.Context, site string, p period, of []dimension, shown []store.Answer) (e earlier, err error) {
	if p.Compare.None() {
		return e, nil
	}
	questions := []store.Question{{}}
	if p.Compare.Rows() {
		for i, d := range of {
			q := d.question(len(shown[i].Rows))
			for _, row := range shown[i].Rows {
				q.Values = append(q.Values, row.Value)
			}
			questions = append(questions, q)
		}
	}
	answers, err := b.Store.Ask(ctx, p.before(site), questions...)
	if err != nil {
		return e, err
	}
	e.totals = answers[0].Totals
	e.rows = make(map[store.Dimension]map[string]int64)
	for i, answer := range answers[1:] {
		counts := make(map[string]int64)
		for _, row := range answer.Rows {
			counts[row.Value] = row.Count
		}
		e.rows[of[i].Dimension] = counts
	}
	return e, nil
}

// earlierPoints asks for the second line of the chart, to the end of the compared time; nil if the chart has none.
func (b *board) earlierPoints(ctx context.Context, site string, p period) ([]store.Point, error) {
	if !p.Compare.Rows() {
		return nil, nil
	}
	answers, err := b.Store.Ask(ctx, p.beforeInFull(site), store.Question{Step: p.Unit.Step()})
	if err != nil {
		return nil, err
	}
	return p.aligned(p.local(answers[0].Points)), nil
}

// aligned returns the compared hours by the hours of the range: each has the hour of the clock on the same day. Days with a change
// of the clock have more hours or fewer.
func (p period) aligned(hours []store.Point) (all []store.Point) {
	if p.Unit != calendar.Hours {
		return hours
	}
	type hour struct{ day, hour int }
	of := p.Compare.daysOf(p.Span)
	sums := make(map[hour]store.Totals)
	for _, h := range hours {
		at := hour{calendar.DaysBetween(of.From, h.At), h.At.Hour()}
		sums[at] = sums[at].Plus(h.Totals)
	}
	end := localtime.Start(p.To, p.Zone)
	for at := localtime.Start(p.From, p.Zone); at.Before(end); at = localtime.NextHour(at, p.Zone) {
		local := at.In(p.Zone)
		day := calendar.DaysBetween(p.From, local)
		if day >= of.Len() {
			break
		}
		all = append(all, store.Point{At: local, Totals: sums[hour{day, local.Hour()}]})
	}
	return all
}

// compare adds the earlier counts to the rows of a table.
func (e earlier) compare(t *table) {
	counts, ok := e.rows[t.Dimension]
	if !ok {
		return
	}
	for i := range t.Rows {
		t.Rows[i].Change = &figure{Value: t.Rows[i].Count, Before: counts[t.Rows[i].value]}
	}
}
