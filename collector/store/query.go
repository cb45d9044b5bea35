package store

import (
	"errors"
	"fmt"
	"time"
)

// Query selects the events that a report counts: the events of a site with From <= At < To that meet the filter.
type Query struct {
	Site     string
	From, To time.Time
	Zone     *time.Location // of days and hours; nil for UTC
	Filter   Filter
}

// Question asks for a figure of the events of a [Query], or for a table of figures. At most one of Step, By and Goals is set;
// without any of them the answer has the totals.
type Question struct {
	Counts Counts // of the events, those that count. Names are of Events, Goals of All
	Step   Step   // a point for each step of the range
	By     Field  // a row for each text or value
	Key    string // of the prop, if By is PropOf
	Goals  []Match

	// The following fields are about a question with By.

	Number string   // key of a prop whose numbers each row adds up; "" for none
	Values []string // if there are any, only these values have rows
	Search string   // only rows whose value contains it have rows; ignores case
	Order  Order
	Offset int // rows to leave out first
	Limit  int // rows, or rows of each prop if By is Props
}

// Order is the order of rows. Rows that it does not order are sorted by value, in byte order.
type Order uint8

// Orders of rows.
const (
	MostCounted Order = iota
	MostVisitors
	LeastCounted
	LeastVisitors
)

// Key returns a number that is higher for rows that come first.
func (o Order) Key(count, visitors int64) int64 {
	switch o {
	case MostVisitors:
		return visitors
	case LeastCounted:
		return -count
	case LeastVisitors:
		return -visitors
	}
	return count
}

// Answer is the answer to a [Question].
type Answer struct {
	Totals Totals  // without Step, By and Goals
	Points []Point // with Step: a point for each step of the range, zeros included
	Rows   []Row   // with By, except Props: in Order. With Goals: in their order
	More   bool    // Limit left out later rows

	// With Props: for each of the MaxReportKeys most frequent keys, at most Limit values: keys sorted, values by descending Count,
	// then by Value. A row with Rest follows if there are more values, and another one at the end if there are more
	// keys. Numbers has the sums of numeric props, for at most Limit keys: by descending Count, then by Key. Numbers
	// beyond the range of a float64 are left out.
	Props   []PropRow
	Numbers []Number
}

// Totals are the figures of a time span. Visitors counts distinct Visitor values per day of the query's zone
// and adds the days up: hashes change daily, so a visitor cannot be recognized on another
// day. Server events have no visitor.
type Totals struct {
	Visitors  int64
	Pageviews int64
	Events    int64 // events with a name, from browsers and servers
}

// Plus returns the sum of the totals of two spans of whole days.
func (t Totals) Plus(u Totals) Totals {
	return Totals{Visitors: t.Visitors + u.Visitors, Pageviews: t.Pageviews + u.Pageviews, Events: t.Events + u.Events}
}

// Point is a column of a chart.
type Point struct {
	At time.Time // start of the step, in UTC
	Totals
}

// Step is the length of time of a Point.
type Step time.Duration

// Steps, which are hours and days of the query's zone. The clock may change within them: then an hour is shorter, and a day is
// shorter, longer, or left out because the zone does not have it.
const (
	Hour = Step(time.Hour)
	Day  = Step(24 * time.Hour)
)

// Row is a line of a table.
type Row struct {
	Value    string  // empty only for events without a referrer, for the empty text of a prop, and for goals
	Count    int64   // of the events that count
	Visitors int64   // as in Totals
	Sum      float64 // of the numbers in the prop Number; the order in which they are added is not defined
}

// PropRow is a value of a prop with its counts, or the sum of several values.
type PropRow struct {
	Key string
	Row

	// Rest is 0 for a single value. Otherwise the row sums up this many values of Key that a
	// limit left out, or all values of this many keys if Key is empty. Visitors is then 0,
	// because a visitor may have several values.
	Rest int
}

// Number sums up the values of a prop that are numbers, as JSON has them. The text "5" is not one.
type Number struct {
	Key   string
	Count int64 // events
	Sum   float64
	Min   float64
	Max   float64
}

// Add adds a value that this many events have. The result depends on the order of the calls, by
// rounding: stores add the values of a prop in byte order of their texts.
func (n *Number) Add(value float64, events int64) {
	if n.Count == 0 {
		n.Min, n.Max = value, value
	}
	n.Count += events
	n.Sum += float64(value * float64(events)) // the conversion forbids fusing, which rounds otherwise
	n.Min, n.Max = min(n.Min, value), max(n.Max, value)
}

// Bounds of a question. A store returns [ErrTooLarge] for a table of the values of a prop, or of sums, with more rows than MaxRows before
// the limit.
const (
	MaxRows       = 100_000
	MaxReportKeys = 100
	MaxGoals      = 64
)

// maxPoints is about a hundred years of hours.
const maxPoints = 1_000_000

// Check returns what is wrong with a query and a question about it, or nil.
func (q *Question) Check(of Query) error {
	kinds := 0
	for _, set := range []bool{q.Step != 0, q.By != "", len(q.Goals) > 0} {
		if set {
			kinds++
		}
	}
	switch {
	case kinds > 1:
		return errors.New("a question has one of a step, a field and goals")
	case q.Step != 0 && q.Step != Hour && q.Step != Day:
		return fmt.Errorf("there is no step of %v", time.Duration(q.Step))
	case q.Step != 0 && (of.To.UnixMilli()-of.From.UnixMilli())/time.Duration(q.Step).Milliseconds() > maxPoints:
		return fmt.Errorf("the range has more than %d steps", maxPoints)
	case len(q.Goals) > MaxGoals:
		return fmt.Errorf("a question has %d goals at most", MaxGoals)
	case q.By == Props:
		if _, one := of.Filter.Name(); !one {
			return errors.New("a question about all props needs a filter for one name")
		}
	case q.By != "" && q.By != PropOf && !q.By.IsText():
		return fmt.Errorf("there is no table by %q", q.By)
	case q.By.IsText() && q.Counts == All:
		return fmt.Errorf("a table by %s counts pageviews or events", q.By)
	}
	return of.Filter.Check()
}
