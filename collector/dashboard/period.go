package dashboard

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/footfall-dev/footfall/collector/internal/calendar"
	"github.com/footfall-dev/footfall/collector/internal/localtime"
	"github.com/footfall-dev/footfall/collector/store"
)

// period is what a page shows: a range, in whole days of a time zone, and the filter of its events. Its times are what clocks of the
// zone show, as times in UTC.
type period struct {
	Name string // of one of calendar.Ranges, all, or custom
	calendar.Span
	Now     time.Time
	Instant time.Time // Now, in the zone
	Zone    *time.Location

	FirstDay, LastDay string // of a custom range, as typed
	Problem           string // why the range in the query is invalid

	Unit    calendar.Unit // of the chart's columns
	Compare comparison

	Chips         []chip // of the filter
	FilterProblem string // what of the filter was left out
	filter        filter
	conditions    store.Filter
	self          url.URL // of the page
}

// Names of the range if none was chosen, of typed days, and of all days with events.
const (
	defaultPeriod = "30d"
	customPeriod  = "custom"
	allPeriod     = "all"
)

// unitParameter names the unit of the chart's columns in a URL.
const unitParameter = "by"

// unknownRange is the Problem of a range that does not exist.
var unknownRange = "Range must be " + strings.Join(append(rangeNames(), allPeriod), ", ") + " or " + customPeriod + "."

func rangeNames() (all []string) {
	for _, r := range calendar.Ranges {
		all = append(all, r.Name)
	}
	return all
}

// readPeriod returns the range in the query. An invalid range becomes the default range, with a
// Problem. The range of all days begins with the day that first returns.
func readPeriod(r *http.Request, now time.Time, zone *time.Location, first func() (time.Time, error)) (period, error) {
	query := r.URL.Query()
	p := period{Now: localtime.Clock(now, zone), Instant: now.In(zone), Zone: zone, FirstDay: query.Get("from"), LastDay: query.Get("to")}
	name := cmp.Or(query.Get("range"), defaultPeriod)
	if query.Get("range") == "" && p.FirstDay+p.LastDay != "" {
		name = customPeriod
	}
	switch name {
	case customPeriod:
		p.Problem = p.setDays()
	case allPeriod:
		at, err := first()
		if err != nil {
			return p, err
		}
		p.Name, p.Span = allPeriod, calendar.Since(localtime.Clock(at, zone), p.Now)
	default:
		if !p.setName(name) {
			p.Problem = unknownRange
		}
	}
	if p.Problem != "" {
		p.setName(defaultPeriod)
	}
	if p.Problem == "" || name != customPeriod {
		p.FirstDay, p.LastDay = "", ""
	}
	p.keepDays()
	p.Unit = calendar.ChosenUnit(query.Get(unitParameter), p.Len())
	var problem string
	p.Compare, problem = readComparison(query)
	p.Problem = cmp.Or(p.Problem, problem)
	return p, nil
}

// status returns the status of a page with figures of the range.
func (p period) status() int {
	if p.Problem != "" || p.FilterProblem != "" {
		return http.StatusUnprocessableEntity
	}
	return http.StatusOK
}

// setName sets a range of a name, or returns false if there is none with the name.
func (p *period) setName(name string) bool {
	named, ok := calendar.Named(name, p.Now)
	if ok {
		p.Name, p.Span = name, named
	}
	return ok
}

// setDays sets the typed days, or returns what is wrong with them.
func (p *period) setDays() (problem string) {
	days, problem := calendar.Typed(p.FirstDay, p.LastDay)
	if problem == "" {
		p.Name, p.Span = customPeriod, days
	}
	return problem
}

// keepDays replaces typed days that a date input cannot show by the days of the range.
func (p *period) keepDays() {
	if _, err := time.Parse(time.DateOnly, p.FirstDay); err != nil {
		p.FirstDay = p.From.Format(time.DateOnly)
	}
	if _, err := time.Parse(time.DateOnly, p.LastDay); err != nil {
		p.LastDay = p.Last().Format(time.DateOnly)
	}
}

func (p period) includesNow() bool { return !p.Now.Before(p.From) && p.Now.Before(p.To) }

// query returns a Query of the whole range.
func (p period) query(site string) store.Query {
	return p.queryOf(site, p.Span)
}

func (p period) queryOf(site string, days calendar.Span) store.Query {
	return store.Query{Site: site, From: localtime.Start(days.From, p.Zone), To: localtime.Start(days.To, p.Zone), Zone: p.Zone, Filter: p.conditions}
}

// local puts the times of hours into the zone, and replaces the times of days by their dates.
func (p period) local(points []store.Point) []store.Point {
	for i := range points {
		if p.Unit == calendar.Hours {
			points[i].At = points[i].At.In(p.Zone)
		} else {
			points[i].At = localtime.DayOf(points[i].At, p.Zone)
		}
	}
	return points
}

// begun reports whether a point of local has begun, and ended whether it is over.
func (p period) begun(at time.Time) bool {
	if p.Unit == calendar.Hours {
		return !at.After(p.Instant)
	}
	return !at.After(p.Now)
}

func (p period) ended(at time.Time) bool {
	if p.Unit == calendar.Hours {
		return !localtime.NextHour(at, p.Zone).After(p.Instant)
	}
	return !p.Unit.End(at, p.Span).After(p.Now)
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
	v := p.choices()
	p.filter.set(v)
	return v
}

// choices are the parameters of the range, the columns and the comparison.
func (p period) choices() url.Values {
	v := url.Values{"range": {p.Name}}
	if p.Name == customPeriod {
		v.Set("from", p.FirstDay)
		v.Set("to", p.LastDay)
	}
	if p.Unit != calendar.ChosenUnit("", p.Len()) {
		v.Set(unitParameter, string(p.Unit))
	}
	p.Compare.set(v)
	return v
}

// periodChoice is a range to choose.
type periodChoice struct{ Name, Label string }

// Choices returns the ranges that the page offers at once.
func (period) Choices() []periodChoice { return choicesOf(true) }

// Others returns the ranges that the page offers in a menu.
func (period) Others() []periodChoice {
	return append(choicesOf(false), periodChoice{allPeriod, "All time"})
}

func choicesOf(atOnce bool) (all []periodChoice) {
	for _, r := range calendar.Ranges {
		if slices.Contains([]string{"today", "7d", "30d", "12m"}, r.Name) == atOnce {
			all = append(all, periodChoice{r.Name, r.Label})
		}
	}
	return all
}

// Other reports whether the range is not among Choices.
func (p period) Other() bool {
	return !slices.ContainsFunc(p.Choices(), func(c periodChoice) bool { return c.Name == p.Name })
}

// Label names the range if it is not among Choices.
func (p period) Label() string {
	if p.Name == customPeriod {
		return "Custom"
	}
	for _, c := range p.Others() {
		if c.Name == p.Name {
			return c.Label
		}
	}
	return "More"
}

// Units returns the units that the columns of the chart can have.
func (p period) Units() []calendar.Unit { return calendar.UnitsOf(p.Len()) }

// Earlier and Later return the URLs of the page with the range before and after this one, "" for none.
func (p period) Earlier() string {
	if p.From.Year() < 1971 {
		return ""
	}
	return p.showing(p.Neighbour(-1))
}

func (p period) Later() string {
	if p.To.After(p.Now) {
		return ""
	}
	return p.showing(p.Neighbour(1))
}

// showing returns the URL of the page with other days.
func (p period) showing(days calendar.Span) string {
	query := p.self.Query()
	query.Del(unitParameter)
	query.Del(pageParameter)
	query.Set("range", customPeriod)
	query.Set("from", days.From.Format(time.DateOnly))
	query.Set("to", days.Last().Format(time.DateOnly))
	return p.self.Path + "?" + query.Encode()
}

// Days describes the days of the range.
func (p period) Days() string { return textOf(p.Span) }

// textOf describes the days of a span.
func textOf(s calendar.Span) string {
	first, last := s.From, s.Last()
	switch {
	case first.Equal(last):
		return last.Format("2 January 2006")
	case first.Year() == last.Year():
		return first.Format("2 Jan") + " – " + last.Format("2 Jan 2006")
	}
	return first.Format("2 Jan 2006") + " – " + last.Format("2 Jan 2006")
}
