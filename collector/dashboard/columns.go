package dashboard

import (
	"slices"
	"time"

	"github.com/footfall-dev/footfall/collector/store"
)

// unit is the length of time of a column of a chart.
type unit string

// Units, and the parameter of a URL that names one.
const (
	hours  unit = "hour"
	days   unit = "day"
	weeks  unit = "week" // from Monday
	months unit = "month"

	unitParameter = "by"
)

// maxColumns bounds the columns of a chart.
const maxColumns = 800

var units = []unit{hours, days, weeks, months}

// Label is the name of the unit on the page.
func (u unit) Label() string {
	return map[unit]string{hours: "Hours", days: "Days", weeks: "Weeks", months: "Months"}[u]
}

// step is the step of the store of which a column is made.
func (u unit) step() store.Step {
	if u == hours {
		return store.Hour
	}
	return store.Day
}

// unitsOf returns the units that a chart of some days can have, the usual one first.
func unitsOf(n int) []unit {
	usual := days
	switch {
	case n <= 2:
		usual = hours
	case n > 3*366:
		usual = months
	case n > 400:
		usual = weeks
	}
	all := []unit{usual}
	for _, u := range units {
		columns := map[unit]int{hours: 24 * n, days: n, weeks: n/7 + 2, months: n/28 + 2}[u]
		if u != usual && columns <= maxColumns && (u != weeks || n > 7) && (u != months || n > 28) {
			all = append(all, u)
		}
	}
	return all
}

// chosenUnit returns the unit with the name if a chart of some days can have it, else the usual one.
func chosenUnit(name string, n int) unit {
	can := unitsOf(n)
	if i := slices.Index(can, unit(name)); i >= 0 {
		return can[i]
	}
	return can[0]
}

// columnsOf adds up points by unit. Visitors of days add up, because a visitor cannot be recognized on another day.
func (u unit) columnsOf(points []store.Point) (all []store.Point) {
	if u == hours || u == days {
		return points
	}
	for _, p := range points {
		start := monday(p.At)
		if u == months {
			start = monthOf(p.At)
		}
		if last := len(all) - 1; last >= 0 && !all[last].At.Before(start) {
			all[last].Totals = plus(all[last].Totals, p.Totals)
			continue
		}
		all = append(all, p)
	}
	return all
}

// spanOf returns the days of a column, which begins at from and is of a range of days; false for an hour.
func (u unit) spanOf(from time.Time, of span) (span, bool) {
	end := from.AddDate(0, 0, 1)
	switch u {
	case hours:
		return span{}, false
	case weeks:
		end = monday(from).AddDate(0, 0, 7)
	case months:
		end = monthOf(from).AddDate(0, 1, 0)
	}
	if end.After(of.To) {
		end = of.To
	}
	return span{from, end}, true
}

// end returns the time at which a column ends.
func (u unit) end(from time.Time, of span) time.Time {
	if s, whole := u.spanOf(from, of); whole {
		return s.To
	}
	return from.Add(time.Hour)
}
