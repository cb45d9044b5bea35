// Package order gives the events of a page times in the order that the page sent them. A step of a
// funnel must be later than the step before, but requests of one moment may arrive in another order,
// and within one millisecond.
package order

import (
	"slices"
	"sync"
	"time"

	"github.com/footfall-dev/footfall/collector/internal/localtime"
)

const (
	maxShift = time.Second // of a time; requests further apart keep the order of their arrival
	maxPages = 1 << 14     // in each half of the memory
	maxSent  = 64          // remembered for each page
)

// Page identifies a page that sends events.
type Page struct {
	Site    string
	Visitor uint64
	ID      string // random
}

// Times remembers the events of the last pages. The zero Times is ready to use. It is safe for
// concurrent use.
type Times struct {
	mu         sync.Mutex
	young, old map[Page][]sent // young replaces old when it is full
}

// sent is an event. The events of a page are in order, and at least as many milliseconds apart as
// their numbers, so that events between them have a place.
type sent struct {
	n  uint32
	at int64 // milliseconds since 1970
}

// At returns the time of event n of a page, which arrives at a time. Without a conflict it is that
// time. The event stays on the day of its zone.
func (t *Times) At(page Page, n uint32, arrived time.Time, zone *time.Location) time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	events, known := t.young[page]
	if !known {
		events = t.old[page]
	}
	now := arrived.UnixMilli()
	events = slices.DeleteFunc(slices.Clone(events), func(e sent) bool { return now-e.at > 2*maxShift.Milliseconds() })
	i, again := slices.BinarySearchFunc(events, n, func(e sent, n uint32) int { return int(int64(e.n) - int64(n)) })
	if again {
		return arrived
	}
	at := place(events, i, n, now)
	shifted := time.UnixMilli(at).UTC()
	if shift := at - now; max(shift, -shift) > maxShift.Milliseconds() || !localtime.DayOf(shifted, zone).Equal(localtime.DayOf(arrived, zone)) {
		return arrived // the visitors of two days differ
	}
	t.remember(page, slices.Insert(events, i, sent{n, at}))
	if at == now {
		return arrived
	}
	return shifted
}

// place returns the time nearest to now of an event between two others.
func place(events []sent, i int, n uint32, now int64) int64 {
	at := now
	if i > 0 {
		at = max(at, events[i-1].at+int64(n-events[i-1].n))
	}
	if i < len(events) {
		at = min(at, events[i].at-int64(events[i].n-n))
	}
	return at
}

func (t *Times) remember(page Page, events []sent) {
	if len(events) > maxSent {
		events = events[1:]
	}
	if _, known := t.young[page]; !known && len(t.young) >= maxPages || t.young == nil {
		t.young, t.old = make(map[Page][]sent), t.young
	}
	t.young[page] = events
}
