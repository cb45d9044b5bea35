package sqlite

import (
	"maps"
	"slices"
	"sync"

	"github.com/footfall-dev/footfall/collector/sqlite/internal/colstore"
)

// due is the set of days with work for the compactor.
type due struct {
	mu   sync.Mutex
	days map[siteDay]dueDay
	all  bool // other days may have work, too
}

// dueDay is the work of a day.
type dueDay struct {
	events int   // upper bound of the events without a segment whose time has come
	again  int64 // when events of later times are enough for a segment, in milliseconds; 0 for never
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
		d.days = make(map[siteDay]dueDay)
	}
	day := d.days[of]
	day.events += events
	d.days[of] = day
}

// addLater adds a day with events of later times.
func (d *due) addLater(of siteDay, events int, again int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.addLocked(of, events)
	day := d.days[of]
	day.again = again
	d.days[of] = day
}

// addAll adds all days: findDue must look for them.
func (d *due) addAll() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all = true
}

// takeReady removes and returns the days that are ready at a time in milliseconds, the latest
// first.
func (d *due) takeReady(now int64, enough int) (days []siteDay, all bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	maps.DeleteFunc(d.days, func(of siteDay, day dueDay) bool {
		ready := day.ready(of, now, enough)
		if ready {
			days = append(days, of)
		}
		return ready
	})
	all, d.all = d.all, false
	slices.SortFunc(days, latestFirst)
	return days, all
}

func (d dueDay) ready(of siteDay, now int64, enough int) bool {
	today := colstore.DayOf(now)
	return of.day < today || of.day == today && (d.events >= enough || d.again != 0 && d.again <= now)
}

func latestFirst(a, b siteDay) int { return int(b.day - a.day) }

// Segments and rollups are computed from the events, so one that is damaged costs no figure: a
// report that meets it reads the events instead, and notes it. The compactor removes what is noted
// and computes it again.

// damage is the set of days with a damaged segment or rollup that was not removed yet.
type damage struct {
	mu   sync.Mutex
	days map[siteDay][]int64 // IDs of the damaged segments
}

// noteRollup notes that the rollup of a day is damaged.
func (d *damage) noteRollup(of siteDay) { d.note(of) }

// noteSegment notes that a segment of a day is damaged.
func (d *damage) noteSegment(of siteDay, id int64) { d.note(of, id) }

func (d *damage) note(of siteDay, ids ...int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.days == nil {
		d.days = make(map[siteDay][]int64)
	}
	if len(d.days[of]) < maxNoted {
		d.days[of] = append(d.days[of], ids...)
	}
}

// maxNoted bounds the notes about a day until the compactor sees them. Reports repeat those that
// are not kept.
const maxNoted = 1000

func (d *damage) take() map[siteDay][]int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	days := d.days
	d.days = nil
	return days
}
