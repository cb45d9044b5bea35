// Package distinct bounds how many distinct props the events of a day may have. Reports group
// events by props, so that anyone who may send events could make them arbitrarily expensive.
//
// Within the bounds an event is stored as it was sent. Beyond them [store.Other] takes the place
// of what is new: of the value of a prop whose key is known, or of all props with new keys
// together. Props that the day already has are always stored as sent.
package distinct

import (
	"hash/maphash"
	"sync"
	"time"

	"github.com/footfall-dev/footfall/collector/store"
)

// Bounds of a UTC day of a site. Browsers have their own, so that strangers cannot use up those
// of the site's backends.
const (
	MaxKeys   = 200       // of the events with one name
	MaxValues = 10_000    // of a key of the events with one name
	MaxBytes  = 4_000_000 // of all keys and values, each with Overhead
	Overhead  = 100
)

// Props counts the distinct props of the current day. It takes at most about 3 MB for each site.
// It is safe for concurrent use.
type Props struct {
	mu   sync.Mutex
	seed maphash.Seed
	of   map[sender]*day
}

// sender is who sends events for a site: browsers or backends.
type sender struct {
	site    string
	browser bool
}

// day holds the hashes of the props of a day.
type day struct {
	of     int64 // days since 1970
	full   bool  // a prop was replaced
	bytes  int
	names  map[uint64]int // number of keys of a name
	keys   map[uint64]int // number of values of a name and key
	values map[uint64]struct{}
}

// New returns Props that have seen none.
func New() *Props {
	return &Props{seed: maphash.MakeSeed(), of: make(map[sender]*day)}
}

// Add counts a prop that is stored.
func (p *Props) Add(site string, at time.Time, name string, browser bool, prop store.Prop) {
	p.mu.Lock()
	defer p.mu.Unlock()
	d := p.day(sender{site, browser}, at)
	d.allow(p.hash(name, prop.Key, prop.Value), prop)
}

// Limit replaces the props of an event that are beyond the bounds. It returns how many it has
// replaced, and whether these are the first ones of the day.
func (p *Props) Limit(e *store.Event) (replaced int, first bool) {
	if len(e.Props) == 0 {
		return 0, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	d := p.day(sender{e.Site, e.Visitor != 0}, e.At)
	kept := e.Props[:0]
	for _, prop := range e.Props {
		h := p.hash(e.Name, prop.Key, prop.Value)
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
	first = replaced > 0 && !d.full
	d.full = d.full || replaced > 0
	return replaced, first
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
func (p *Props) Prune(exists func(site string) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for s := range p.of {
		if !exists(s.site) {
			delete(p.of, s)
		}
	}
}

// day returns the current day of a sender. An event of a day before counts as one of this day.
func (p *Props) day(s sender, at time.Time) *day {
	n := at.Unix() / (24 * 60 * 60)
	d := p.of[s]
	if d == nil || d.of < n {
		d = &day{of: n, names: make(map[uint64]int), keys: make(map[uint64]int), values: make(map[uint64]struct{})}
		p.of[s] = d
	}
	return d
}

// hashes identify a prop of the events with a name.
type hashes struct{ name, key, value uint64 }

func (p *Props) hash(name, key, value string) hashes {
	var h maphash.Hash
	h.SetSeed(p.seed)
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
	values := d.keys[h.key]
	if values >= MaxValues || values == 0 && d.names[h.name] >= MaxKeys || d.bytes+size > MaxBytes {
		return false
	}
	if values == 0 {
		d.names[h.name]++
	}
	d.keys[h.key]++
	d.values[h.value] = struct{}{}
	d.bytes += size
	return true
}
