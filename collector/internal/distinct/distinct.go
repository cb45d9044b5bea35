// Package distinct bounds how many distinct texts and props the browser events of a day may have.
// Reports group events by them, so without bounds anyone could make reports arbitrarily
// expensive.
//
// Within the bounds an event is stored as it was sent. Beyond them [store.Other] replaces new
// texts, such as names and pages, new values of props whose keys are known, and all props with new
// keys together. Texts and values that the day already has are always stored as sent.
package distinct

import (
	"hash/maphash"
	"sync"
	"time"

	"github.com/footfall-dev/footfall/collector/store"
)

// Bounds of a UTC day of a site.
const (
	MaxPages = 50_000 // paths
	MaxNames = 1_000  // names of events
	MaxTexts = 5_000  // of every other dimension, such as sources

	MaxKeys    = 200       // of the events with one name
	MaxValues  = 10_000    // of a key of the events with one name
	MaxBytes   = 4_000_000 // of all keys and values, each with Overhead
	Overhead   = 100
	MaxNumbers = 100_000 // of all keys; numbers of known keys have this bound alone
)

// maxNumber is the length of the longest text of a number that MaxNumbers bounds.
const maxNumber = 32

// Limits counts the distinct texts and props of the current day. It takes at most about 10 MB for
// each site. It is safe for concurrent use.
type Limits struct {
	mu   sync.Mutex
	seed maphash.Seed
	of   map[string]*day // by site
}

// day holds the hashes of the texts and props of a day.
type day struct {
	of      int64 // days since 1970
	full    bool  // something was replaced
	bytes   int
	numbers int
	names   map[uint64]int // number of keys of a name
	keys    map[uint64]int // number of values of a name and key, or of texts of a column
	values  map[uint64]struct{}
}

// New returns Limits that have seen nothing.
func New() *Limits {
	return &Limits{seed: maphash.MakeSeed(), of: make(map[string]*day)}
}

// AddProp counts a prop that is stored.
func (l *Limits) AddProp(site string, at time.Time, name string, prop store.Prop) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.day(site, at).allow(l.hash(name, prop.Key, prop.Value), prop)
}

// Limit replaces what is beyond the bounds in an event, and reports whether this is the first time
// of the day. It does not change events of backends, which have no visitor.
func (l *Limits) Limit(e *store.Event) (first bool) {
	if e.Visitor == 0 {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	d := l.day(e.Site, e.At)
	replaced := l.limitTexts(d, e)
	replaced += l.limitProps(d, e) // after the name
	first = replaced > 0 && !d.full
	d.full = d.full || replaced > 0
	return first
}

// limitProps returns how many props it has replaced.
func (l *Limits) limitProps(d *day, e *store.Event) (replaced int) {
	kept := e.Props[:0]
	for _, prop := range e.Props {
		h := l.hash(e.Name, prop.Key, prop.Value)
		switch {
		case d.allow(h, prop):
			kept = append(kept, prop)
			continue
		case d.keys[h.key] > 0:
			kept = append(kept, store.Prop{Key: prop.Key, Value: store.Other})
		}
		replaced++
	}
	if left := len(e.Props) - len(kept); left > 0 && !has(kept, store.Other) {
		kept = append(kept, store.Prop{Key: store.Other, Value: store.Other})
	}
	e.Props = kept
	return replaced
}

func has(props []store.Prop, key string) bool {
	for i := range props {
		if props[i].Key == key {
			return true
		}
	}
	return false
}

// Prune drops sites that do not exist.
func (l *Limits) Prune(exists func(site string) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for site := range l.of {
		if !exists(site) {
			delete(l.of, site)
		}
	}
}

// day returns the current day of a site. An event of a day before counts as one of this day.
func (l *Limits) day(site string, at time.Time) *day {
	n := at.Unix() / (24 * 60 * 60)
	d := l.of[site]
	if d == nil || d.of < n {
		d = &day{of: n, names: make(map[uint64]int), keys: make(map[uint64]int), values: make(map[uint64]struct{})}
		l.of[site] = d
	}
	return d
}

// hashes identify a prop of the events with a name, or a text of a column.
type hashes struct{ name, key, value uint64 }

func (l *Limits) hash(name, key, value string) hashes {
	var h maphash.Hash
	h.SetSeed(l.seed)
	var of hashes
	for i, text := range [...]string{name, key, value} {
		_, _ = h.WriteString(text) // never fails
		_ = h.WriteByte(0xff)      // not part of UTF-8
		*[...]*uint64{&of.name, &of.key, &of.value}[i] = h.Sum64()
	}
	return of
}

// allow counts a prop and reports whether it is within the bounds.
func (d *day) allow(h hashes, prop store.Prop) bool {
	if _, known := d.values[h.value]; known {
		return true
	}
	size := len(prop.Key) + len(prop.Value) + Overhead
	switch values := d.keys[h.key]; {
	case values > 0 && prop.Numeric && len(prop.Value) <= maxNumber:
		if d.numbers >= MaxNumbers {
			return false
		}
		d.numbers++
	case values >= MaxValues || values == 0 && d.names[h.name] >= MaxKeys || d.bytes+size > MaxBytes:
		return false
	default:
		d.bytes += size
	}
	if d.keys[h.key] == 0 {
		d.names[h.name]++
	}
	d.keys[h.key]++
	d.values[h.value] = struct{}{}
	return true
}
