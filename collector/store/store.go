// Package store defines the interface between the collector and its storage: events, the
// figures of the dashboard, and records of the account. Package storetest tests
// implementations.
package store

import (
	"context"
	"errors"
	"time"
)

// Event is a pageview, or an event with a name.
type Event struct {
	Site     string    // ID of the site
	At       time.Time // time of arrival, in milliseconds
	Name     string    // as sent; empty for a pageview
	URL      string    // as sent, absolute
	Path     string    // unescaped path of URL, identifies a page; begins with a slash
	Referrer string    // host of the referrer; empty if none or the site itself
	Source   string    // utm_source of URL; empty if none
	Medium   string
	Campaign string
	Browser  string // name, such as Firefox; empty for server events
	Device   string // Desktop, Mobile or Tablet; empty for server events
	Visitor  uint64 // daily hash of the browser's visitor; 0 for server events
	Props    []Prop // in the order sent, keys unique
	Key      string // Idempotency-Key; empty if none
}

// Prop is a property of an event: a string or a number.
type Prop struct {
	Key     string
	Value   string // for a number its JSON text
	Numeric bool
}

// Limits of an event. The API refuses events above them; implementations may rely on it.
const (
	MaxName     = 120      // characters
	MaxURL      = 2048     // bytes
	MaxProps    = 100      // of an event
	MaxPropKey  = 300      // bytes
	MaxPropText = 2000     // bytes
	MaxBody     = 32 << 10 // bytes of a request
)

// Other is the text that replaces names, sources and other texts beyond the bounds of the
// collector, and of values and keys of props. OtherPage is the one of paths.
const (
	Other     = "(other)"
	OtherPage = "/" + Other
)

// Query selects the events of a site with From <= At < To.
type Query struct {
	Site     string
	From, To time.Time
}

// Totals are the figures of a time span. Visitors counts distinct Visitor values per UTC day
// and adds the days up: hashes change daily, so a visitor cannot be recognized on another
// day. Server events have no visitor.
type Totals struct {
	Visitors  int64
	Pageviews int64
	Events    int64 // events with a name, from browsers and servers
}

// Point is a column of a chart.
type Point struct {
	At time.Time // start of the step, UTC
	Totals
}

// Step is the length of time of a Point.
type Step time.Duration

// Steps, in UTC.
const (
	Hour = Step(time.Hour)
	Day  = Step(24 * time.Hour)
)

// Row is a line of a dashboard table.
type Row struct {
	Value    string // empty only among Referrers, for pageviews without a referrer
	Count    int64  // pageviews or events
	Visitors int64  // as in Totals
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

// PropReport is the result of [Store.Props].
type PropReport struct {
	Rows    []PropRow
	Numbers []Number
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

// Breakdown is the result of [Store.Breakdown].
type Breakdown struct {
	Sources, Mediums, Campaigns []SumRow
	Props                       []SumRow // in the order of the props that were asked for; Value is the value of the prop
}

// SumRow is a value that some events have, with the sum of a number in these events.
type SumRow struct {
	Value string
	Count int64 // events
	Sum   float64
}

// MaxBreakdown bounds the different sources, mediums and campaigns in the report of [Store.Breakdown].
const MaxBreakdown = 100_000

// MaxReportKeys is the number of keys in the report of [Store.Props].
const MaxReportKeys = 100

// Match selects the events of a goal or of a funnel's step: pageviews of a page, or events
// with a name, optionally only those with a prop. Number props are compared as text. With a
// PropKey, an empty PropValue matches only the empty text. Without a PropKey, PropValue is
// ignored. A Match without Page and Event selects nothing.
type Match struct {
	Page      string `json:"page,omitempty"`  // pattern of a path; * matches any characters. Empty if Event is set
	Event     string `json:"event,omitempty"` // exact name
	PropKey   string `json:"prop_key,omitempty"`
	PropValue string `json:"prop_value,omitempty"` // only with PropKey
}

// FunnelStep counts a step of a funnel.
type FunnelStep struct {
	Visitors int64 // visitors that took all steps up to this one in strictly increasing time, within 24 h
	Count    int64 // events that match the step, with or without a visitor
}

// Funnel is the result of [Store.Funnel].
type Funnel struct {
	Steps []FunnelStep

	// Visitorless counts the events that match a step and have no visitor. FunnelStep.Visitors
	// does not include them.
	Visitorless int64
}

// Record is an item of the account, such as a site or a goal, in encoded form.
type Record struct {
	ID   string
	Data []byte
}

// ErrClosed is returned by all methods after Close.
var ErrClosed = errors.New("store: closed")

// ErrFull is returned for a write for which the disk has no space. It may have space later.
var ErrFull = errors.New("store: the disk is full")

// ErrBusy is returned for work that cannot be done while a report is read. Try it again.
var ErrBusy = errors.New("store: busy")

// Inspector is implemented by a Store that notices damage of its data.
type Inspector interface {
	// Damage returns the first error by which a method found that data is damaged and cannot be
	// repaired; nil if there is none.
	Damage() error
}

// Bounded is implemented by a Store that may have to refuse some events while it stores others.
type Bounded interface {
	// Full returns why the store refuses some events; nil if it takes all, as far as it knows.
	Full() error
}

// Backlogged is implemented by a Store that computes figures in advance, in the background.
type Backlogged interface {
	// Backlog returns how far the store is with the figures that it did not have when it was opened;
	// false if it has all of them, or cannot compute them now.
	Backlog() (Backlog, bool)
}

// Backlog is the work of a store with a backlog.
type Backlog struct {
	Days   int   // of all sites, whose figures were missing; 0 until the store knows
	Done   int   // of these days
	Events int64 // of the next one that are done
}

// ErrTooLarge is returned for a report that would need too much memory. Request a shorter range.
var ErrTooLarge = errors.New("store: the report is too large: ask for a shorter range")

// ErrRemoved is returned for an export that lacks events, because they were removed before it has read them.
var ErrRemoved = errors.New("store: events of the range were removed during the export")

// DuplicateFor is how long the Key of an Event is remembered by default.
const DuplicateFor = 24 * time.Hour

// Bounds of the time for which a Key is remembered.
const (
	MinDuplicateFor = time.Minute
	MaxDuplicateFor = 30 * 24 * time.Hour
)

// Store keeps events and records. It is safe for concurrent use. Methods return the error of
// their context when it ends. Unless noted otherwise a report includes every event whose Add
// has returned.
type Store interface {
	// Add returns true when e is committed: it then survives a crash of the process and of the
	// machine. Concurrent calls share commits. If an event with the same Key was added to the
	// site within DuplicateFor, or the time configured instead, e is not added and Add returns
	// false and nil. The context bounds the wait; the event may still be committed later.
	Add(ctx context.Context, e Event) (added bool, err error)

	Totals(ctx context.Context, q Query) (Totals, error)

	// Series returns a point for each step of the range, zeros included.
	Series(ctx context.Context, q Query, step Step) ([]Point, error)

	// Top returns at most limit rows, sorted by descending Count, then by Value.
	Top(ctx context.Context, q Query, by Dimension, limit int) ([]Row, error)

	// Props returns, for each of the MaxReportKeys most frequent prop keys of the events with this
	// name, at most limit values: keys sorted, values by descending Count, then by Value. A row
	// with Rest follows if there are more values, and another one at the end if there are more
	// keys. Strings compare bytewise. It also returns the sums of numeric props, for at most limit
	// keys: by descending Count, then by Key. Numbers beyond the range of a float64 are left out. A
	// limit of 0 returns nothing. If there are too many distinct props to sort, Props may return
	// ErrTooLarge.
	Props(ctx context.Context, q Query, event string, limit int) (PropReport, error)

	// SeriesOf is like Series for the events with this name, which is not empty.
	SeriesOf(ctx context.Context, q Query, event string, step Step) ([]Point, error)

	// PagesOf is like Top by EventPages for the events with this name, which is not empty.
	PagesOf(ctx context.Context, q Query, event string, limit int) ([]Row, error)

	// Breakdown divides the events with this name, which is not empty, by source, medium and campaign, at most
	// limit rows each, sorted by descending Count, then by Value; events without a text are in no row. It
	// also counts the events with each of props, compared as in Match. Each row has the sum of the numbers, as
	// JSON has them, in the prop number; the order in which they are added is not defined. It returns
	// ErrTooLarge if the events have more than MaxBreakdown different sources, mediums or campaigns.
	Breakdown(ctx context.Context, q Query, event, number string, props []Prop, limit int) (Breakdown, error)

	// EachProp calls each with the props of all events, in any order: the event's name, whether
	// the event has a Visitor, and the prop. It may leave out some that it has passed before.
	EachProp(ctx context.Context, q Query, each func(name string, visitor bool, p Prop)) error

	// Count returns the number of matching events and of their visitors.
	Count(ctx context.Context, q Query, m Match) (Row, error)

	// Funnel follows visitors through two to eight steps, all within [From, To). Unlike in
	// Totals, the same Visitor value on two days is one visitor. But a browser's hash changes at
	// midnight UTC, so a visitor's steps after midnight belong to a new visitor without
	// the earlier steps. Funnels therefore count slightly too few.
	Funnel(ctx context.Context, q Query, steps []Match) (Funnel, error)

	// Recent returns the latest events, newest first, at most limit.
	Recent(ctx context.Context, q Query, limit int) ([]Event, error)

	// Export calls each for every event, oldest first. Their Key is empty. The cost of an event does
	// not depend on the number of events before it. If events of the range are removed meanwhile, Export
	// calls each for them all the same, or returns ErrRemoved.
	Export(ctx context.Context, q Query, each func(Event) error) error

	// Put adds or replaces a record of a kind, such as "site", and commits it.
	Put(ctx context.Context, kind string, r Record) error
	// Remove removes a record. Removing a missing record is not an error.
	Remove(ctx context.Context, kind, id string) error
	// Records returns the records of a kind, sorted by ID.
	Records(ctx context.Context, kind string) ([]Record, error)

	// Sites returns the sites that have events, sorted.
	Sites(ctx context.Context) ([]string, error)

	// Forget removes the events of a site before a time, and their figures. If the time is zero, it
	// removes all events of the site, and every Key. Texts of removed events, such as paths, may
	// stay in files for some minutes.
	Forget(ctx context.Context, site string, before time.Time) error

	// Backup writes a consistent copy to a new file. Events may be added meanwhile.
	Backup(ctx context.Context, file string) error

	// Close commits pending events. Reports in progress may return ErrClosed. A second call
	// returns an error.
	Close() error
}
