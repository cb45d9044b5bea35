package calendar

import (
	"slices"
	"time"

	"github.com/footfall-dev/footfall/collector/store"
)

// Unit is the length of time of a column of a chart.
type Unit string

// Units.
const (
	Hours  Unit = "hour"
	Days   Unit = "day"
	Weeks  Unit = "week" // from Monday
	Months Unit = "month"
)

// maxColumns bounds the columns of a chart.
const maxColumns = 800

var units = []Unit{Hours, Days, Weeks, Months}

// Step is the step of the points that make up a column.
func (u Unit) Step() store.Step {
	if u == Hours {
		return store.Hour
	}
	return store.Day
}

// UnitsOf returns the units that a chart of some days can have, the usual one first.
func UnitsOf(n int) []Unit {
	usual := Days
	switch {
	case n <= 2:
		usual = Hours
	case n > 3*366:
		usual = Months
	case n > 400:
		usual = Weeks
	}
	all := []Unit{usual}
	for _, u := range units {
		columns := map[Unit]int{Hours: 24 * n, Days: n, Weeks: n/7 + 2, Months: n/28 + 2}[u]
		if u != usual && columns <= maxColumns && (u != Weeks || n > 7) && (u != Months || n > 28) {
			all = append(all, u)
		}
	}
	return all
}

// ChosenUnit returns the unit with the name if a chart of some days can have it, else the usual one.
func ChosenUnit(name string, n int) Unit {
	can := UnitsOf(n)
	if i := slices.Index(can, Unit(name)); i >= 0 {
		return can[i]
	}
	return can[0]
}

// ColumnsOf adds up points by unit. Visitors of days add up, because a visitor cannot be recognized on another day.
func (u Unit) ColumnsOf(points []store.Point) (all []store.Point) {
	if u == Hours || u == Days {
		return points
	}
	for _, p := range points {
		start := monday(p.At)
		if u == Months {
			start = monthOf(p.At)
		}
		if last := len(all) - 1; last >= 0 && !all[last].At.Before(start) {
			all[last].Totals = all[last].Plus(p.Totals)
			continue
		}
		all = append(all, p)
	}
	return all
}

// SpanOf returns the days of a column, which begins at from and is of a range of days; false for an hour.
func (u Unit) SpanOf(from time.Time, of Span) (Span, bool) {
	end := from.AddDate(0, 0, 1)
	switch u {
	case Hours:
		return Span{}, false
	case Weeks:
		end = monday(from).AddDate(0, 0, 7)
	case Months:
		end = monthOf(from).AddDate(0, 1, 0)
	}
	if end.After(of.To) {
		end = of.To
	}
	return Span{from, end}, true
}

// End returns the time at which a column ends.
func (u Unit) End(from time.Time, of Span) time.Time {
	if s, whole := u.SpanOf(from, of); whole {
		return s.To
	}
	return from.Add(time.Hour)
}
