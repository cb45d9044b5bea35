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

// Funnel is the result of [EventStore.Funnel].
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

// EventStore keeps events and answers questions about them. It is safe for concurrent use. Methods return the error of
// their context when it ends. Unless noted otherwise a report includes every event whose Add
// has returned.
type EventStore interface {
	// Add returns true when e is committed: it then survives a crash of the process and of the
	// machine. Concurrent calls share commits. If an event with the same Key was added to the
	// site within DuplicateFor, or the time configured instead, e is not added and Add returns
	// false and nil. The context bounds the wait; the event may still be committed later.
	Add(ctx context.Context, e Event) (added bool, err error)

	// Ask answers questions about the events of a query, in their order. All answers are of the same events. It
	// returns an error for an invalid query or question, and ErrTooLarge if an answer needs too much memory.
	Ask(ctx context.Context, q Query, questions ...Question) ([]Answer, error)

	// Funnel follows visitors through two to eight steps, all of them events of the query. Unlike in
	// Totals, the same Visitor value on two days is one visitor. But a browser's hash changes at
	// midnight of its site, so a visitor's steps after midnight belong to a new visitor without
	// the earlier steps. Funnels therefore count slightly too few.
	Funnel(ctx context.Context, q Query, steps []Match) (Funnel, error)

	// EachProp calls each with the props of all events, in any order: the event's name, whether
	// the event has a Visitor, and the prop. It may leave out some that it has passed before.
	EachProp(ctx context.Context, q Query, each func(name string, visitor bool, p Prop)) error

	// Recent returns the latest events, newest first, at most limit.
	Recent(ctx context.Context, q Query, limit int) ([]Event, error)

	// Export calls each for every event, oldest first. Their Key is empty. The cost of an event does
	// not depend on the number of events before it. If events of the range are removed meanwhile, Export
	// calls each for them all the same, or returns ErrRemoved.
	Export(ctx context.Context, q Query, each func(Event) error) error

	// Sites returns the sites that have events, sorted.
	Sites(ctx context.Context) ([]string, error)

	// Forget removes the events of a site before a time, and their figures. If the time is zero, it
	// removes all events of the site, and every Key. Texts of removed events, such as paths, may
	// stay in files for some minutes.
	Forget(ctx context.Context, site string, before time.Time) error
}

// RecordStore keeps records of the account. It is safe for concurrent use.
type RecordStore interface {
	// Put adds or replaces a record of a kind, such as "site", and commits it.
	Put(ctx context.Context, kind string, r Record) error
	// Remove removes a record. Removing a missing record is not an error.
	Remove(ctx context.Context, kind, id string) error
	// Records returns the records of a kind, sorted by ID.
	Records(ctx context.Context, kind string) ([]Record, error)
}

// Store is an engine that keeps events and records in one place.
type Store interface {
	EventStore
	RecordStore

	// Backup writes a consistent copy to a new file. Events may be added meanwhile.
	Backup(ctx context.Context, file string) error

	// Close commits pending events. Reports in progress may return ErrClosed. A second call
	// returns an error.
	Close() error
}
