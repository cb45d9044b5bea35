package dashboard

import "time"

// span is whole days of a calendar: from the start of a day until the start of another one.
type span struct{ From, To time.Time }

// midnight returns the start of a day.
func midnight(at time.Time) time.Time {
	return time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, at.Location())
}

// monday, monthOf and yearOf return the start of the week, the month and the year of a day.
func monday(day time.Time) time.Time { return day.AddDate(0, 0, -int(day.Weekday()+6)%7) }

func monthOf(day time.Time) time.Time { return day.AddDate(0, 0, 1-day.Day()) }

func yearOf(day time.Time) time.Time { return day.AddDate(0, 0, 1-day.YearDay()) }

// daysFrom returns the number of days from the start of a day until the start of another one.
func daysFrom(from, to time.Time) int {
	number := func(day time.Time) int64 {
		return time.Date(day.Year(), day.Month(), day.Day(), 0, 0, 0, 0, time.UTC).Unix() / int64(24*60*60)
	}
	return int(number(to) - number(from))
}

func (s span) days() int { return daysFrom(s.From, s.To) }

func (s span) lastDay() time.Time { return s.To.AddDate(0, 0, -1) }

// moved returns the span a number of days later.
func (s span) moved(days int) span { return span{s.From.AddDate(0, 0, days), s.To.AddDate(0, 0, days)} }

// neighbour returns the span of the same kind after this one, or with -1 before it: the year after a year, the month
// after a month, and otherwise the same number of days.
func (s span) neighbour(direction int) span {
	switch from := s.From; {
	case from.Equal(yearOf(from)) && s.To.Equal(from.AddDate(1, 0, 0)):
		return span{from.AddDate(direction, 0, 0), s.To.AddDate(direction, 0, 0)}
	case from.Equal(monthOf(from)) && s.To.Equal(from.AddDate(0, 1, 0)):
		return span{from.AddDate(0, direction, 0), s.To.AddDate(0, direction, 0)}
	}
	return s.moved(direction * s.days())
}

// yearBefore returns the same days a year before. The day before a 29 February is the 28th.
func (s span) yearBefore() span {
	from := s.From.AddDate(-1, 0, 0)
	if from.Day() != s.From.Day() {
		from = from.AddDate(0, 0, -1)
	}
	return span{from, s.To.AddDate(-1, 0, 0)}
}

// ranges are the spans that have a name, for the day that it is.
var ranges = []struct {
	Name, Label string
	of          func(today time.Time) span
}{
	{"today", "Today", lastDays(1)},
	{"yesterday", "Yesterday", func(today time.Time) span { return lastDays(1)(today).moved(-1) }},
	{"week", "This week", week},
	{"lastweek", "Last week", func(today time.Time) span { return week(today).moved(-7) }},
	{"7d", "7 days", lastDays(7)},
	{"28d", "28 days", lastDays(28)},
	{"30d", "30 days", lastDays(30)},
	{"90d", "90 days", lastDays(90)},
	{"month", "This month", month},
	{"lastmonth", "Last month", func(today time.Time) span { return month(today).neighbour(-1) }},
	{"year", "This year", year},
	{"lastyear", "Last year", func(today time.Time) span { return year(today).neighbour(-1) }},
	{"12m", "12 months", func(today time.Time) span { return span{today.AddDate(-1, 0, 1), today.AddDate(0, 0, 1)} }},
}

func lastDays(n int) func(today time.Time) span {
	return func(today time.Time) span { return span{today.AddDate(0, 0, 1-n), today.AddDate(0, 0, 1)} }
}

func week(today time.Time) span { return span{monday(today), monday(today).AddDate(0, 0, 7)} }

func month(today time.Time) span { return span{monthOf(today), monthOf(today).AddDate(0, 1, 0)} }

func year(today time.Time) span { return span{yearOf(today), yearOf(today).AddDate(1, 0, 0)} }
