// Package calendar has the days, weeks, months and years of reports: pure functions of times. The times must be in UTC, where each
// day begins at 00:00 and has 24 hours.
package calendar

import "time"

// Span is whole days of a calendar: from the start of a day until the start of another one.
type Span struct{ From, To time.Time }

// String returns the first and the last day.
func (s Span) String() string {
	return s.From.Format(time.DateOnly) + " " + s.Last().Format(time.DateOnly)
}

// Named returns the span of Ranges with a name, at a time.
func Named(name string, now time.Time) (Span, bool) {
	for _, r := range Ranges {
		if r.Name == name {
			return r.Of(Midnight(now)), true
		}
	}
	return Span{}, false
}

// MaxDays is the most days of a span that was typed: fifty years.
const MaxDays = 50*365 + 13

// Typed returns the span from one day to another, or what is wrong with their texts.
func Typed(first, last string) (s Span, problem string) {
	from, err := time.Parse(time.DateOnly, first)
	if err != nil {
		return s, "From must be a date such as 2026-01-31."
	}
	to, err := time.Parse(time.DateOnly, last)
	switch {
	case err != nil:
		return s, "To must be a date such as 2026-01-31."
	case to.Before(from):
		return s, "To is before From."
	case DaysBetween(from, to) >= MaxDays:
		return s, "The range is longer than fifty years."
	case from.Year() < 1970 || to.Year() > 9998:
		return s, "The year must be from 1970 to 9998."
	}
	return Span{from, to.AddDate(0, 0, 1)}, ""
}

// Since returns the span from the day of a time until today. If the time is later, it is today.
func Since(at, now time.Time) Span {
	today := Midnight(now)
	if day := Midnight(at.UTC()); day.Before(today) {
		return Span{day, today.AddDate(0, 0, 1)}
	}
	return Span{today, today.AddDate(0, 0, 1)}
}

// Midnight returns the start of a day.
func Midnight(at time.Time) time.Time {
	return time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, at.Location())
}

// monday, monthOf and yearOf return the start of the week, the month and the year of a day.
func monday(day time.Time) time.Time { return day.AddDate(0, 0, -int(day.Weekday()+6)%7) }

func monthOf(day time.Time) time.Time { return day.AddDate(0, 0, 1-day.Day()) }

func yearOf(day time.Time) time.Time { return day.AddDate(0, 0, 1-day.YearDay()) }

// DaysBetween returns the number of days from the start of a day until the start of another one.
func DaysBetween(from, to time.Time) int {
	number := func(day time.Time) int64 {
		return time.Date(day.Year(), day.Month(), day.Day(), 0, 0, 0, 0, time.UTC).Unix() / int64(24*60*60)
	}
	return int(number(to) - number(from))
}

// Len returns the number of days.
func (s Span) Len() int { return DaysBetween(s.From, s.To) }

// Last returns the start of the last day.
func (s Span) Last() time.Time { return s.To.AddDate(0, 0, -1) }

// Moved returns the span a number of days later.
func (s Span) Moved(days int) Span { return Span{s.From.AddDate(0, 0, days), s.To.AddDate(0, 0, days)} }

// Neighbour returns the span of the same kind after this one, or with -1 before it: the year after a year, the month
// after a month, and otherwise the same number of days.
func (s Span) Neighbour(direction int) Span {
	switch from := s.From; {
	case from.Equal(yearOf(from)) && s.To.Equal(from.AddDate(1, 0, 0)):
		return Span{from.AddDate(direction, 0, 0), s.To.AddDate(direction, 0, 0)}
	case from.Equal(monthOf(from)) && s.To.Equal(from.AddDate(0, 1, 0)):
		return Span{from.AddDate(0, direction, 0), s.To.AddDate(0, direction, 0)}
	}
	return s.Moved(direction * s.Len())
}

// YearBefore returns the same days a year before. The day before a 29 February is the 28th.
func (s Span) YearBefore() Span {
	from := s.From.AddDate(-1, 0, 0)
	if from.Day() != s.From.Day() {
		from = from.AddDate(0, 0, -1)
	}
	return Span{from, s.To.AddDate(-1, 0, 0)}
}

// Ranges are the spans that have a name, for the day that it is.
var Ranges = []struct {
	Name, Label string
	Of          func(today time.Time) Span
}{
	{"today", "Today", lastDays(1)},
	{"yesterday", "Yesterday", func(today time.Time) Span { return lastDays(1)(today).Moved(-1) }},
	{"week", "This week", week},
	{"lastweek", "Last week", func(today time.Time) Span { return week(today).Moved(-7) }},
	{"7d", "7 days", lastDays(7)},
	{"28d", "28 days", lastDays(28)},
	{"30d", "30 days", lastDays(30)},
	{"90d", "90 days", lastDays(90)},
	{"month", "This month", month},
	{"lastmonth", "Last month", func(today time.Time) Span { return month(today).Neighbour(-1) }},
	{"year", "This year", year},
	{"lastyear", "Last year", func(today time.Time) Span { return year(today).Neighbour(-1) }},
	{"12m", "12 months", func(today time.Time) Span { return Span{today.AddDate(-1, 0, 1), today.AddDate(0, 0, 1)} }},
}

func lastDays(n int) func(today time.Time) Span {
	return func(today time.Time) Span { return Span{today.AddDate(0, 0, 1-n), today.AddDate(0, 0, 1)} }
}

func week(today time.Time) Span { return Span{monday(today), monday(today).AddDate(0, 0, 7)} }

func month(today time.Time) Span { return Span{monthOf(today), monthOf(today).AddDate(0, 1, 0)} }

func year(today time.Time) Span { return Span{yearOf(today), yearOf(today).AddDate(1, 0, 0)} }
