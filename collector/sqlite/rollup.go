package sqlite

import (
	"context"

	"github.com/footfall-dev/footfall/collector/store"
)

// Parts of a rollup. The dimensions follow partTop, in their order.
const (
	partTotals  = 0 // of the day and of its hours
	partProps   = 1 // for each name, pairs
	partAt      = 2 // columns, here to partSets
	partVisitor = 3
	partName    = 4
	partPath    = 5
	partSets    = 6 // props
	partTop     = 10
)

// dayOf is a day of a site.
type dayOf struct {
	site uint32
	day  int64
}

// touched remembers which commit was the last that added to a day, so that no rollup is
// kept that was made from a state before it.
type touched struct {
	now  map[dayOf]struct{} // by the transaction under way
	last map[dayOf]int64    // number of the commit
	all  int64              // number of a commit that may have touched any
}

func (t *touched) init() {
	t.now, t.last = make(map[dayOf]struct{}), make(map[dayOf]int64)
}

func (t *touched) add(d dayOf) { t.now[d] = struct{}{} }

// since reports whether d may have been touched after a commit.
func (t *touched) since(d dayOf, commit int64) bool {
	return t.all > commit || t.last[d] > commit
}

// rememberedDays bounds what touched remembers.
const rememberedDays = 50_000

// removeStale removes the rollups of the days that the transaction adds to.
func (w *writer) removeStale() error {
	commit := w.commits.Load() + 1
	if len(w.touched.last) > rememberedDays {
		clear(w.touched.last)
		w.touched.all = commit
	}
	for d := range w.touched.now {
		if _, err := w.stale.ExecContext(background, d.site, d.day); err != nil {
			return err
		}
		w.touched.last[d] = commit
	}
	clear(w.touched.now)
	return nil
}

// rollUp makes the rollups that are missing of closed days which lie in the range as a
// whole.
func (s *Store) rollUp(ctx context.Context, q store.Query) error {
	missing, err := s.missing(ctx, q)
	if err != nil || len(missing) == 0 {
		return err
	}
	if err := s.rolling.wait(ctx); err != nil { // reports of one page ask for the same days
		return err
	}
	defer s.rolling.done()
	if missing, err = s.missing(ctx, q); err != nil {
		return err
	}
	for _, day := range missing {
		made, err := s.rollUpDay(ctx, q.Site, day)
		if err == nil && made != nil {
			err = s.keep(ctx, made)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// missing returns the days without a rollup that can have one.
func (s *Store) missing(ctx context.Context, q store.Query) (days []int64, err error) {
	today := floorDiv(s.now().UnixMilli(), msPerDay)
	err = s.snapshot(ctx, q, func(r *reading) error {
		return r.days(func(d *span) error {
			if d.whole() && !d.rolled && d.day < today {
				days = append(days, d.day)
			}
			return nil
		})
	})
	return days, err
}

// rollup is one before it is kept.
type rollup struct {
	of    dayOf
	seen  int64 // a commit that is in the state it was made from, as are those before
	parts map[int][]byte
}

// rollUpDay makes a rollup from a state of the file; nil if the day has no events.
func (s *Store) rollUpDay(ctx context.Context, site string, day int64) (*rollup, error) {
	var made *rollup
	seen := s.commits.Load() // before there is a state: that may hold more, but no less
	q := store.Query{Site: site, From: timeOf(day * msPerDay), To: timeOf((day + 1) * msPerDay)}
	err := s.snapshot(ctx, q, func(r *reading) error {
		c, err := r.scan(r.from, r.to, every...)
		if err != nil {
			return err
		}
		parts, err := c.parts()
		made = &rollup{dayOf{r.site, day}, seen, parts}
		return err
	})
	return made, err
}

// keep writes a rollup into the file, unless something was added to its day since.
func (s *Store) keep(ctx context.Context, r *rollup) error {
	return s.write(ctx, func(w *writer) error {
		if w.touched.since(r.of, r.seen) {
			return nil
		}
		for part, data := range r.parts {
			// Never nil, which is NULL.
			data = append([]byte{}, data...)
			if _, err := w.conn.ExecContext(background, "INSERT OR REPLACE INTO rollup VALUES (?, ?, ?, ?)", r.of.site, r.of.day, part, data); err != nil {
				return err
			}
		}
		return nil
	})
}

// parts packs all that is kept of a day.
func (c *columns) parts() (map[int][]byte, error) {
	byName, err := c.pairs(func(uint32) bool { return true })
	if err != nil {
		return nil, err
	}
	parts := map[int][]byte{
		partTotals:  encodeTotals(c.totals()),
		partProps:   encodePairs(byName),
		partAt:      encodeTimes(c.at),
		partVisitor: encodeVisitors(&c.visitor),
		partName:    encodeIDs(c.name),
		partPath:    encodeIDs(c.path),
		partSets:    encodeSets(&c.props),
	}
	for by := range dimensionColumns {
		parts[partTop+by] = encodeTop(c.top(store.Dimension(by)))
	}
	return parts, nil
}
