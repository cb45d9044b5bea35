package sqlite

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"github.com/footfall-dev/footfall/collector/sqlite/internal/colstore"
)

// due is the set of days with work for the compactor.
type due struct {
	enough int // events of a segment

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
		if c.unpacked {
			c.events += d.enough
		}
		d.addLocked(of, dueDay{events: c.events})
	}
}

// addDay adds a day that is ready at once.
func (d *due) addDay(of siteDay) { d.add(of, dueDay{events: d.enough}) }

// add adds work for a day.
func (d *due) add(of siteDay, more dueDay) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.addLocked(of, more)
}

func (d *due) addLocked(of siteDay, more dueDay) {
	if len(d.days) >= maxDue {
		d.days, d.all = nil, true
	}
	if d.days == nil {
		d.days = make(map[siteDay]dueDay)
	}
	day := d.days[of]
	d.days[of] = dueDay{day.events + more.events, cmp.Or(more.again, day.again)}
}

// addAll adds all days: findDue must look for them.
func (d *due) addAll() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all = true
}

// takeReady removes and returns the days that are ready at a time in milliseconds, the latest
// first.
func (d *due) takeReady(now int64) (days []siteDay, all bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	maps.DeleteFunc(d.days, func(of siteDay, day dueDay) bool {
		ready := day.ready(of, now, d.enough)
		if ready {
			days = append(days, of)
		}
		return ready
	})
	all, d.all = d.all, false
	slices.SortFunc(days, func(a, b siteDay) int { return int(b.day - a.day) })
	return days, all
}

// count returns the number of days that are ready at a time in milliseconds.
func (d *due) count(now int64) (days int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for of, day := range d.days {
		if day.ready(of, now, d.enough) {
			days++
		}
	}
	return days
}

func (d dueDay) ready(of siteDay, now int64, enough int) bool {
	today := colstore.DayOf(now)
	return of.day < today || of.day == today && (d.events >= enough || d.again != 0 && d.again <= now)
}

// Segments and rollups are computed from the events, so one that is damaged costs no figure: a
// report that meets it reads the events instead, and notes it. The compactor removes what is noted
// and computes it again.

// damage is the set of days with a damaged segment or rollup that was not removed yet.
type damage struct {
	mu   sync.Mutex
	days map[siteDay][]int64 // IDs of the damaged segments
}

// note notes that the rollup of a day or some of its segments are damaged.
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
