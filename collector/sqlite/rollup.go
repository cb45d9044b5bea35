package sqlite

import (
	"context"

	"github.com/footfall-dev/footfall/collector/store"
)

// A rollup is what a closed day was counted: its totals and tables. It is there only
// while it is exact: a transaction that adds to its day removes it.

// Parts of a rollup. The dimensions follow partTop, in their order.
const (
	partTotals = 0 // of the day and of its hours
	partProps  = 1 // for each name, pairs
	partTop    = 10
)

// dayOf is a day of a site.
type dayOf struct {
	site uint32
	day  int64
}

func (d dayOf) begin() int64 { return d.day * msPerDay }
func (d dayOf) end() int64   { return (d.day + 1) * msPerDay }

// dayBegin returns when the day of a time began.
func dayBegin(at int64) int64 { return floorDiv(at, msPerDay) * msPerDay }

// watch tells the writer to note whether the events of a span change. While there is one
// something is made of them beside the writer, which is kept only if they do not.
type watch struct {
	site     uint32
	from, to int64
	changed  bool
}

// derived is made of a span of a state of the file, and kept unless the span has changed
// since.
type derived struct {
	watch
	read func(*reading) error
	keep func(*writer) error
	kept bool
}

// derive makes one at a time: it is the keeper's turn.
func (s *Store) derive(ctx context.Context, d *derived) (kept bool, err error) {
	watching := func(w *writer) error {
		w.watch = &d.watch
		return nil
	}
	if err := s.write(ctx, watching); err != nil {
		return false, err
	}
	if err := s.stateOf(ctx, d.site, d.from, d.to, d.read); err != nil {
		return false, err
	}
	err = s.write(ctx, func(w *writer) error {
		w.watch = nil
		if d.kept = !d.changed; d.kept {
			return d.keep(w)
		}
		return nil
	})
	if err != nil { // the writer may be at it still
		return false, err
	}
	return d.kept, nil
}

// change is how much of a day a transaction has added to.
type change struct {
	first, last int64 // times of events
	events      int
}

// touch notes that the transaction adds an event.
func (w *writer) touch(site uint32, at int64) {
	if w.watch != nil && w.watch.site == site && w.watch.from <= at && at < w.watch.to {
		w.watch.changed = true
	}
	d := dayOf{site, floorDiv(at, msPerDay)}
	c, known := w.touched[d]
	if !known {
		c = change{at, at, 0}
	}
	w.touched[d] = change{min(c.first, at), max(c.last, at), c.events + 1}
}

// removeStale removes what was made of the spans that the transaction adds to.
func (w *writer) removeStale() error {
	for d, c := range w.touched {
		if _, err := w.staleRollup.ExecContext(background, d.site, d.day); err != nil {
			return err
		}
		result, err := w.stalePieces.ExecContext(background, d.site, d.begin(), c.first, c.last)
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); err != nil {
			return err
		} else if n > 0 {
			c.events += w.pieces // there is one to be made again
			w.touched[d] = c
		}
	}
	return nil
}

// stalePieces finds the pieces of a day that begin before its end and end after a time.
// All but the last of those that begin before that time end before it.
const stalePieces = `DELETE FROM piece WHERE site = ?1 AND until > ?3 AND first <= ?4 AND first >=
	coalesce((SELECT max(first) FROM piece WHERE site = ?1 AND first BETWEEN ?2 AND ?3), ?2)`

// newRollup is that of a day. Of one without events nothing is kept. The pieces of the
// day become one, unless it would be too long: that is half the work for all reports that
// look at single events.
func newRollup(of dayOf, longest int) *derived {
	var tables, whole map[int][]byte
	return &derived{
		watch: watch{site: of.site, from: of.begin(), to: of.end()},
		read: func(r *reading) (err error) {
			d := &span{reading: r, day: of.day, from: of.begin(), to: of.end()}
			var events int64
			if tables, events, err = d.tables(); err == nil && events <= int64(longest) {
				whole, err = d.whole()
			}
			return err
		},
		keep: func(w *writer) error {
			if err := w.keepWhole(of, whole); err != nil {
				return err
			}
			for part, data := range tables {
				if _, err := w.conn.ExecContext(background, "INSERT OR REPLACE INTO rollup VALUES (?, ?, ?, ?)", of.site, of.day, part, notNull(data)); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// tables packs what a day was counted; nil if it has no events.
func (d *span) tables() (parts map[int][]byte, events int64, err error) {
	totals, hours, err := d.count()
	if events = totals.Pageviews + totals.Events; err != nil || events == 0 {
		return nil, 0, err
	}
	parts = map[int][]byte{partTotals: encodeTotals(totals, hours)}
	for by := range dimensionColumns {
		t := newTops(store.Dimension(by))
		if err := t.count(d); err != nil {
			return nil, 0, err
		}
		if parts[partTop+by], err = t.encode(d.reading); err != nil {
			return nil, 0, err
		}
	}
	byName, err := d.pairs(func(uint32) bool { return true })
	parts[partProps] = encodePairs(byName)
	return parts, events, err
}
