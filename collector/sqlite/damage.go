package sqlite

import (
	"context"
	"sync"

	"github.com/footfall-dev/footfall/collector/sqlite/internal/colstore"
)

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

// removeDamaged removes the segments and rollups that are damaged, and marks their days as due.
func (c *compactor) removeDamaged(ctx context.Context) error {
	days := c.damage.take()
	for of, segments := range days {
		err := c.write(ctx, func(w *writer) error { return w.removeDamaged(of, segments) })
		if err != nil {
			for of, segments := range days { // removing one twice does no harm
				c.damage.note(of, segments...)
			}
			return err
		}
		c.logger.Warn("sqlite: precomputed figures of a day were damaged and are computed again from its events; check the disk",
			"file", c.file, "day", timeOf(of.begin()).Format("2006-01-02"))
		c.due.addDay(of, c.segmentLength)
	}
	return nil
}

// removeDamaged removes segments of a day, and its rollup in any case: a day with a rollup is not
// looked at again.
func (w *writer) removeDamaged(of siteDay, segments []int64) error {
	if _, err := w.conn.ExecContext(background, "DELETE FROM rollup WHERE site = ? AND day = ?", of.site, of.day); err != nil {
		return err
	}
	for _, id := range segments {
		if _, err := w.conn.ExecContext(background, "DELETE FROM piece WHERE id = ?", id); err != nil {
			return err
		}
	}
	return nil
}

// unsealAll checks parts and removes their checksums.
func unsealAll(parts colstore.Parts) (err error) {
	for part, data := range parts {
		if parts[part], err = colstore.Unseal(part, data); err != nil {
			return err
		}
	}
	return nil
}
