package sqlite

import (
	"maps"
	"slices"
	"sync"
)

// due is the set of days with work for the keeper.
type due struct {
	mu   sync.Mutex
	days map[dayOf]int // upper bound of the events without a piece
	all  bool          // other days may have work, too
}

// maxDue bounds the days in due.
const maxDue = 50_000

// add adds the changes of a transaction.
func (d *due) add(changes map[dayOf]change) {
	if len(changes) == 0 {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for of, c := range changes {
		d.put(of, c.events)
	}
}

func (d *due) again(of dayOf, events int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.put(of, events)
}

func (d *due) put(of dayOf, events int) {
	if len(d.days) >= maxDue {
		d.days, d.all = nil, true
	}
	if d.days == nil {
		d.days = make(map[dayOf]int)
	}
	d.days[of] += events
}

func (d *due) anything() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all = true
}

// take removes and returns the days that are ready, the latest first.
func (d *due) take(today int64, enough int) (days []dayOf, all bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	maps.DeleteFunc(d.days, func(of dayOf, events int) bool {
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

func latestFirst(a, b dayOf) int { return int(b.day - a.day) }
