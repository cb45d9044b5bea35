// Package store says what the collector keeps and what it asks of it: events, the
// figures of the dashboard, and a few records of the account. An engine implements
// Store; package storetest checks that it does.
package store

import (
	"context"
	"errors"
	"time"
)

// Event is one thing that happened on a site: a pageview, or an event with a name.
type Event struct {
	Site     string    // id of the site
	At       time.Time // when it came in; kept to the millisecond
	Name     string    // as sent; empty for a pageview
	URL      string    // as sent, absolute
	Path     string    // of URL, unescaped query left out: what pages are counted by; begins with a slash
	Referrer string    // host that the visitor came from; empty if none, or the site itself
	Source   string    // utm_source of URL, and so on; empty if none
	Medium   string
	Campaign string
	Visitor  uint64 // daily hash of a browser's visitor; 0 for none: server-side events have none
	Props    []Prop // in the order sent, keys unique
	Key      string // Idempotency-Key; empty if none
}

// Prop is a property of an event: a string, or a number as it was written.
type Prop struct {
	Key     string
	Value   string // of a number its JSON text
	Numeric bool
}

// Limits of what is stored (the API refuses more; an engine may rely on it).
const (
	MaxName     = 120      // characters
	MaxURL      = 2048     // bytes
	MaxProps    = 100      // of an event
	MaxPropKey  = 300      // bytes
	MaxPropText = 2000     // bytes
	MaxBody     = 32 << 10 // bytes of a request
)

// Query asks about the events of a site with From <= At < To.
type Query struct {
	Site     string
	From, To time.Time
}

// Totals are the figures of a time span. Visitors counts different Visitor values of
// each UTC day and adds the days up: the hash changes daily, so nobody can be followed
// from one day to the next. Server-side events have no visitor.
type Totals struct {
	Visitors  int64
	Pageviews int64
	Events    int64 // with a name, of browsers and servers
}

// Point is one column of a chart.
type Point struct {
	At time.Time // its beginning, UTC
	Totals
}

// Step is the width of a Point.
type Step time.Duration

// Widths of a Point. Hours and days are those of UTC.
const (
	Hour = Step(time.Hour)
	Day  = Step(24 * time.Hour)
)

// Dimension is what Top counts by.
type Dimension uint8

// Dimensions. All but Names count pageviews; Names counts events.
const (
	Pages Dimension = iota
	Referrers
	Sources
	Mediums
	Campaigns
	Names
)

// Row is a line of a table of the dashboard.
type Row struct {
	Value    string // never empty, but for pageviews without a referrer among Referrers: "" is direct
	Count    int64  // pageviews or events
	Visitors int64  // as in Totals
}

// PropRow is how often a prop of an event had a value.
type PropRow struct {
	Key string
	Row
}

// Match picks the events of a goal or of a funnel's step: pageviews of a page, or events
// of a name, all of them or those with a prop. A number prop is compared by its text. With
// a PropKey an empty PropValue is the empty text, and not any value: there is no Match for
// "has the prop". Without a PropKey the PropValue is not looked at. A Match without Page
// and Event picks nothing.
type Match struct {
	Page      string `json:"page,omitempty"`  // pattern of a path; * stands for any characters. Empty if Event is set.
	Event     string `json:"event,omitempty"` // exact name
	PropKey   string `json:"prop_key,omitempty"`
	PropValue string `json:"prop_value,omitempty"` // only with PropKey
}

// FunnelStep is how many got as far as a step.
type FunnelStep struct {
	Visitors int64 // took this step after all before it, in strictly increasing time, within 24 h of their first
	Count    int64 // events that match the step at all, with or without a visitor
}

// Funnel is what became of those who took the first step.
type Funnel struct {
	Steps []FunnelStep

	// Visitorless counts the events that match a step and have no visitor: the
	// reading by visitor leaves them out.
	Visitorless int64
}

// Record is a thing of the account, such as a site or a goal: bytes with a name.
type Record struct {
	ID   string
	Data []byte
}

// ErrClosed is returned by all methods after Close.
var ErrClosed = errors.New("store: closed")

// DuplicateFor is how long an Event's Key is remembered, unless an engine is told otherwise.
const DuplicateFor = 24 * time.Hour

// Bounds of that time where an engine lets it be set.
const (
	MinDuplicateFor = time.Minute
	MaxDuplicateFor = 30 * 24 * time.Hour
)

// Store keeps events and records. Its methods may be called from several goroutines at
// once; those that take a context end with its error. Unless said otherwise a report
// sees everything whose Add has returned.
type Store interface {
	// Add returns nil when e is committed: it survives a crash of the process and of
	// the machine. Many callers share a commit. An event whose Key was added to the
	// same site within DuplicateFor, or what the engine was told instead, is not added
	// again, which is no error. The context bounds the wait; the event may be committed
	// after that all the same.
	Add(ctx context.Context, e Event) error

	Totals(ctx context.Context, q Query) (Totals, error)

	// Series returns a point for each step from that of q.From to that of the last
	// instant before q.To, zeros included.
	Series(ctx context.Context, q Query, step Step) ([]Point, error)

	// Top returns at most limit rows, by Count, then Value in byte order.
	Top(ctx context.Context, q Query, by Dimension, limit int) ([]Row, error)

	// Props returns for each prop key of the events of that name at most limit
	// values: keys in byte order, values by Count, then Value in byte order.
	Props(ctx context.Context, q Query, event string, limit int) ([]PropRow, error)

	// Count returns how many events match, and of how many visitors.
	Count(ctx context.Context, q Query, m Match) (Row, error)

	// Funnel follows visitors through two to eight steps. Only first steps in
	// [From, To) count; all that is looked at is in there. The same Visitor on two
	// days is one visitor here, unlike in Totals. But a browser's hash changes at
	// midnight UTC: who goes on after it is somebody else by then, who took none of the
	// steps before. So a way over midnight ends there, and funnels count a little less
	// than there was.
	Funnel(ctx context.Context, q Query, steps []Match) (Funnel, error)

	// Recent returns the latest events, newest first, at most limit.
	Recent(ctx context.Context, q Query, limit int) ([]Event, error)

	// Export calls each with every event, oldest first. Key is empty in all.
	Export(ctx context.Context, q Query, each func(Event) error) error

	// Put adds or replaces a record of a kind, such as "site". It is committed.
	Put(ctx context.Context, kind string, r Record) error
	// Remove removes a record; one that is not there is no error.
	Remove(ctx context.Context, kind, id string) error
	// Records returns those of a kind, by ID.
	Records(ctx context.Context, kind string) ([]Record, error)

	// Forget removes the events of a site before a time, and all figures of them.
	// A zero time means all of them.
	Forget(ctx context.Context, site string, before time.Time) error

	// Backup writes a consistent copy to a new file, while events come in.
	Backup(ctx context.Context, file string) error

	// Close commits what Add has taken. Reports under way may end with ErrClosed. It is
	// an error to call it twice.
	Close() error
}
