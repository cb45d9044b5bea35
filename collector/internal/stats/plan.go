package stats

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/footfall-dev/footfall/collector/account"
	"github.com/footfall-dev/footfall/collector/internal/calendar"
	"github.com/footfall-dev/footfall/collector/internal/localtime"
	"github.com/footfall-dev/footfall/collector/store"
)

// Metrics.
const (
	visitors  = "visitors"
	pageviews = "pageviews"
	events    = "events" // with a name
)

// Dimensions that are texts of an event.
var dimensions = []struct {
	Name  string
	Field store.Field
}{
	{"event:page", store.Path},
	{"event:name", store.Name},
	{"visit:referrer", store.Referrer},
	{"visit:source", store.Source},
	{"visit:utm_medium", store.Medium},
	{"visit:utm_campaign", store.Campaign},
	{"visit:browser", store.Browser},
	{"visit:device", store.Device},
}

const (
	propPrefix = "event:props:"
	goalName   = "event:goal" // only in filters
	timePrefix = "time:"
)

// Bounds of a request.
const (
	defaultLimit = 100
	maxLimit     = 10_000
	maxOffset    = store.MaxRows
	maxHours     = 10_000 // points of time:hour
)

// plan is a request that was checked, in the words of the store.
type plan struct {
	query    store.Query
	question store.Question
	days     calendar.Span
	zone     *time.Location
	unit     calendar.Unit // "" without a dimension of time
	metrics  []string
	field    bool // the question is for a table
}

// newPlan returns the plan of a request at a time. The site has this time zone and these goals. For the range all it calls first, which
// returns the time of the first event.
func (r *Request) newPlan(now time.Time, zone *time.Location, goals []account.Goal, first func() (time.Time, error)) (p plan, err error) {
	p.metrics = r.Metrics
	p.zone, p.query.Zone, p.query.Site = zone, zone, r.Site
	if err := r.checkMetrics(); err != nil {
		return p, err
	}
	if p.days, err = r.span(now, zone, first); err != nil {
		return p, err
	}
	p.query.From, p.query.To = localtime.Start(p.days.From, zone), localtime.Start(p.days.To, zone)
	if p.query.Filter, err = r.filter(goals); err != nil {
		return p, err
	}
	if err := p.divide(r); err != nil {
		return p, err
	}
	if err := p.order(r); err != nil {
		return p, err
	}
	return p, p.page(r)
}

func (r *Request) checkMetrics() error {
	if len(r.Metrics) == 0 {
		return wrong("metrics", "must name at least one of visitors, pageviews and events")
	}
	for i, m := range r.Metrics {
		if m != visitors && m != pageviews && m != events {
			return wrong("metrics", "there is no metric %q: use visitors, pageviews or events", shorten(m))
		}
		if slices.Contains(r.Metrics[:i], m) {
			return wrong("metrics", "has %s twice", m)
		}
	}
	return nil
}

// synonyms are names of ranges in other services.
var synonyms = map[string]string{"day": "today", "12mo": "12m"}

// span returns the days of date_range.
func (r *Request) span(now time.Time, zone *time.Location, first func() (time.Time, error)) (calendar.Span, error) {
	if r.Range.First != "" || r.Range.Last != "" {
		days, problem := calendar.Typed(r.Range.First, r.Range.Last)
		if problem != "" {
			return days, wrong("date_range", "%s", problem)
		}
		return days, nil
	}
	name := r.Range.Name
	if synonym, ok := synonyms[name]; ok {
		name = synonym
	}
	if s, ok := calendar.Named(name, localtime.Clock(now, zone)); ok {
		return s, nil
	}
	if name != "all" {
		return calendar.Span{}, wrong("date_range", "must be one of %s and all, or a first and a last day such as 2026-01-31", rangeNames())
	}
	at, err := first()
	return calendar.Since(localtime.Clock(at, zone), localtime.Clock(now, zone)), err
}

func rangeNames() string {
	var all []string
	for _, r := range calendar.Ranges {
		all = append(all, r.Name)
	}
	return strings.Join(all, ", ")
}

// fieldOf returns the field of a dimension, and the key of a prop.
func fieldOf(dimension string) (f store.Field, key string, ok bool) {
	if key, isProp := strings.CutPrefix(dimension, propPrefix); isProp {
		return store.PropOf, key, key != ""
	}
	for _, d := range dimensions {
		if d.Name == dimension {
			return d.Field, "", true
		}
	}
	return "", "", false
}

// filter returns the conditions of the filters. A goal is named by its name or ID.
func (r *Request) filter(goals []account.Goal) (all store.Filter, err error) {
	for _, f := range r.Filters {
		c := store.Condition{Op: store.Op(f.Op), Values: f.Values}
		var ok bool
		if c.Field, c.Key, ok = fieldOf(f.Dimension); f.Dimension == goalName {
			if c, err = goalCondition(f, goals); err != nil {
				return nil, err
			}
		} else if !ok {
			return nil, wrong("filters", "there is no dimension %q: use %s", shorten(f.Dimension), dimensionNames(goalName))
		}
		all = append(all, c)
	}
	if err := all.Check(); err != nil {
		return nil, wrong("filters", "%v", err)
	}
	return all, nil
}

func goalCondition(f filter, goals []account.Goal) (store.Condition, error) {
	c := store.Condition{Op: store.Op(f.Op), Field: store.Goal}
	for _, name := range f.Values {
		i := slices.IndexFunc(goals, func(g account.Goal) bool { return g.ID == name || g.Name == name })
		if i < 0 {
			return c, wrong("filters", "the site has no goal %q", shorten(name))
		}
		c.Goals = append(c.Goals, goals[i].Match)
	}
	return c, nil
}

// dimensionNames lists the dimensions of texts and some more.
func dimensionNames(more ...string) string {
	var all []string
	for _, d := range dimensions {
		all = append(all, d.Name)
	}
	return strings.Join(append(all, more...), ", ") + " or " + propPrefix + "KEY"
}

// dimensionField is the name of the field or parameter that has the dimension.
func (r *Request) dimensionField() string { return cmp.Or(r.dimension, "dimensions") }

// divide sets what the results are divided by.
func (p *plan) divide(r *Request) error {
	if len(r.Dimensions) == 0 {
		return nil
	}
	name := r.Dimensions[0]
	if len(r.Dimensions) > 1 {
		return wrong(r.dimensionField(), "must have one dimension at most")
	}
	if unit, ok := strings.CutPrefix(name, timePrefix); ok {
		return p.divideByTime(calendar.Unit(unit), r.dimensionField())
	}
	var ok bool
	if p.question.By, p.question.Key, ok = fieldOf(name); !ok {
		return wrong(r.dimensionField(), "there is no dimension %q: use time:hour, time:day, time:week, time:month, %s", shorten(name), dimensionNames())
	}
	p.field = true
	counted, err := p.counted()
	p.question.Counts = counted
	return err
}

func (p *plan) divideByTime(unit calendar.Unit, field string) error {
	if !slices.Contains([]calendar.Unit{calendar.Hours, calendar.Days, calendar.Weeks, calendar.Months}, unit) {
		return wrong(field, "there is no dimension %q: use time:hour, time:day, time:week or time:month", timePrefix+shorten(string(unit)))
	}
	if unit == calendar.Hours && p.days.Len() > maxHours/24 {
		return wrong(field, "time:hour needs a range of at most %d days", maxHours/24)
	}
	p.unit, p.question.Step = unit, unit.Step()
	return nil
}

// counted returns the events that the rows of a table count: the visitors of other events do not count.
func (p *plan) counted() (store.Counts, error) {
	views, named := slices.Contains(p.metrics, pageviews), slices.Contains(p.metrics, events)
	switch {
	case views && named:
		return store.All, wrong("metrics", "with this dimension, ask for pageviews or for events")
	case named, p.question.By == store.Name && !views:
		return store.Events, nil
	}
	return store.Pageviews, nil
}

// order sets the order of the rows of a table. Times are in their order.
func (p *plan) order(r *Request) error {
	if len(r.Order) == 0 {
		return nil
	}
	if len(r.Order) > 1 || len(r.Order[0]) != 2 {
		return wrong("order_by", `must have one entry at most, such as ["visitors", "desc"]`)
	}
	by, direction := r.Order[0][0], r.Order[0][1]
	switch {
	case !p.field:
		return wrong("order_by", "needs a dimension that is not a time")
	case direction != "asc" && direction != "desc":
		return wrong("order_by", "the direction must be asc or desc")
	case !slices.Contains(p.metrics, by):
		return wrong("order_by", "%q is not among the metrics", shorten(by))
	}
	p.question.Order = map[[2]bool]store.Order{
		{false, false}: store.MostCounted, {false, true}: store.LeastCounted, {true, false}: store.MostVisitors, {true, true}: store.LeastVisitors,
	}[[2]bool{by == visitors, direction == "asc"}]
	return nil
}

// page sets the rows that the response has.
func (p *plan) page(r *Request) error {
	p.question.Limit = defaultLimit
	if r.Pagination == nil {
		return nil
	}
	if !p.field {
		return wrong("pagination", "needs a dimension that is not a time")
	}
	if r.Pagination.Limit != nil {
		p.question.Limit = *r.Pagination.Limit
	}
	p.question.Offset = r.Pagination.Offset
	if p.question.Limit < 1 || p.question.Limit > maxLimit {
		return wrong("limit", "must be from 1 to %d", maxLimit)
	}
	if p.question.Offset < 0 || p.question.Offset > maxOffset {
		return wrong("offset", "must be from 0 to %d", maxOffset)
	}
	return nil
}

// shorten cuts a text for a message.
func shorten(text string) string {
	const most = 100
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}
