package sqlite

import (
	"maps"
	"slices"
	"sync"
)

// due is the set of days with work for the compactor.
type due struct {
	mu   sync.Mutex
	days map[siteDay]int // upper bound of the events without a segment
	all  bool            // other days may have work, too
}

// maxDue bounds the days in due.
const maxDue = 50_000

// addChanges adds the changes of a transaction.
func (d *due) addChanges(changes map[siteDay]change) {
	if len(changes) == 0 {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for of, c := range changes {
		d.addLocked(of, c.events)
	}
}

// addDay adds a day.
func (d *due) addDay(of siteDay, events int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.addLocked(of, events)
}

func (d *due) addLocked(of siteDay, events int) {
	if len(d.days) >= maxDue {
		d.days, d.all = nil, true
	}
	if d.days == nil {
		d.days = make(map[siteDay]int)
	}
	d.days[of] += events
}

// addAll adds all days: findDue must look for them.
func (d *due) addAll() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all = true
}

// takeReady removes and returns the days that are ready, the latest first.
func (d *due) takeReady(today int64, enough int) (days []siteDay, all bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	maps.DeleteFunc(d.days, func(of siteDay, events int) bool {
		ready := of.day < today || of.day == today && events >= enough
		if ready {
			days = append(days, of)
		}
		return ready
	})
	all, d.all = d.all, false
	slices.SortFunc(days, latestFirst)
	return days, all
}

func latestFirst(a, b siteDay) int { return int(b.day - a.day) }
