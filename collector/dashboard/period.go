package dashboard

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/footfall-dev/footfall/collector/store"
)

// period is what a page shows: a range, in whole UTC days, and the filter of its events.
type period struct {
	Name     string // today, 7d, 30d, 12m or custom
	From, To time.Time
	Now      time.Time

	FirstDay, LastDay string // of a custom range, as typed
	Problem           string // why the range in the query is invalid

	Chips         []chip // of the filter
	FilterProblem string // what of the filter was left out
	filter        filter
	conditions    store.Filter
	self          url.URL // of the page
}

// defaultPeriod is the range if none was chosen, and customPeriod the one of typed days.
const (
	defaultPeriod = "30d"
	customPeriod  = "custom"
)

// unknownRange is the Problem of a range that does not exist. Exports have one more.
const (
	unknownRange       = "Range must be today, 7d, 30d, 12m or custom."
	unknownExportRange = "Range must be today, 7d, 30d, 12m, custom or all."
)

// maxDays is the longest range: three years, one of them a leap year.
const maxDays = 3*365 + 1

// readPeriod returns the range in the query. An invalid range becomes the default range, with a
// Problem.
func readPeriod(r *http.Request, now time.Time) period {
	query := r.URL.Query()
	p := period{Now: now.UTC(), FirstDay: query.Get("from"), LastDay: query.Get("to")}
	name := cmp.Or(query.Get("range"), defaultPeriod)
	if query.Get("range") == "" && p.FirstDay+p.LastDay != "" {
		name = customPeriod
	}
	if name == customPeriod {
		if p.Problem = p.setDays(); p.Problem != "" {
			p.setName(defaultPeriod)
			p.keepDays()
		}
		return p
	}
	if !p.setName(name) {
		p.Problem = unknownRange
		p.setName(defaultPeriod)
	}
	p.FirstDay, p.LastDay = p.From.Format(time.DateOnly), p.lastDay().Format(time.DateOnly)
	return p
}

// status returns the status of a page with figures of the range.
func (p period) status() int {
	if p.Problem != "" || p.FilterProblem != "" {
		return http.StatusUnprocessableEntity
	}
	return http.StatusOK
}

// setName sets a predefined range, or returns false if there is none with the name.
func (p *period) setName(name string) bool {
	today := p.Now.Truncate(24 * time.Hour)
	switch name {
	case "today":
		p.From = today
	case "7d":
		p.From = today.AddDate(0, 0, -6)
	case "30d":
		p.From = today.AddDate(0, 0, -29)
	case "12m":
		p.From = today.AddDate(-1, 0, 1)
	default:
		return false
	}
	p.Name, p.To = name, today.AddDate(0, 0, 1)
	return true
}

// setDays sets the typed days, or returns what is wrong with them.
func (p *period) setDays() (problem string) {
	from, err := time.Parse(time.DateOnly, p.FirstDay)
	if err != nil {
		return "From must be a date such as 2026-01-31."
	}
	to, err := time.Parse(time.DateOnly, p.LastDay)
	switch {
	case err != nil:
		return "To must be a date such as 2026-01-31."
	case to.Before(from):
		return "To is before From."
	case to.Sub(from) >= maxDays*24*time.Hour:
		return "The range is longer than three years."
	case from.Year() < 1970 || to.Year() > 9998:
		return "The year must be from 1970 to 9998."
	}
	p.Name, p.From, p.To = customPeriod, from, to.AddDate(0, 0, 1)
	return ""
}

// keepDays replaces typed days that a date input cannot show.
func (p *period) keepDays() {
	if _, err := time.Parse(time.DateOnly, p.FirstDay); err != nil {
		p.FirstDay = p.From.Format(time.DateOnly)
	}
	if _, err := time.Parse(time.DateOnly, p.LastDay); err != nil {
		p.LastDay = p.lastDay().Format(time.DateOnly)
	}
}

func (p period) lastDay() time.Time { return p.To.AddDate(0, 0, -1) }

func (p period) includesNow() bool { return p.Now.After(p.From) && p.Now.Before(p.To) }

// query returns a Query of the whole range.
func (p period) query(site string) store.Query {
	return store.Query{Site: site, From: p.From, To: p.To, Filter: p.conditions}
}

// before returns a Query of the same length just before the range. If the range includes
// today, it ends at the same time of day as now.
func (p period) before(site string) store.Query {
	length := p.To.Sub(p.From)
	end := p.To
	if p.includesNow() {
		end = p.Now
	}
	return store.Query{Site: site, From: p.From.Add(-length), To: end.Add(-length), Filter: p.conditions}
}

// Against describes the time of before, with which the page compares.
func (p period) Against() string {
	days := int(p.To.Sub(p.From) / (24 * time.Hour))
	switch current := p.includesNow(); {
	case current && days == 1:
		return "the same hours yesterday"
	case days == 1:
		return "the day before"
	case current:
		return fmt.Sprintf("the %d days before, up to the same time of day", days)
	}
	return fmt.Sprintf("the %d days before", days)
}

// step is an hour for ranges of up to two days, else a day.
func (p period) step() store.Step {
	if p.To.Sub(p.From) <= 48*time.Hour {
		return store.Hour
	}
	return store.Day
}

// On returns the URL of a page with this range.
func (p period) On(path string) string { return path + "?" + p.values().Encode() }

// OnEvent returns the URL of an event's page with this range.
func (p period) OnEvent(path, name string) string {
	v := p.values()
	v.Set("name", name)
	return path + "?" + v.Encode()
}

func (p period) values() url.Values {
	v := url.Values{"range": {p.Name}}
	if p.Name == customPeriod {
		v.Set("from", p.FirstDay)
		v.Set("to", p.LastDay)
	}
	p.filter.set(v)
	return v
}

// periodChoice is a predefined range.
type periodChoice struct{ Name, Label string }

// Choices returns the predefined ranges.
func (period) Choices() []periodChoice {
	return []periodChoice{{"today", "Today"}, {"7d", "7 days"}, {"30d", "30 days"}, {"12m", "12 months"}}
}

// Days describes the days of the range.
func (p period) Days() string {
	first, last := p.From, p.lastDay()
	switch {
	case first.Equal(last):
		return last.Format("2 January 2006")
	case first.Year() == last.Year():
		return first.Format("2 Jan") + " – " + last.Format("2 Jan 2006")
	}
	return first.Format("2 Jan 2006") + " – " + last.Format("2 Jan 2006")
}
