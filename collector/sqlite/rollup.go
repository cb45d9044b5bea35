package sqlite

import (
	"context"

	"github.com/footfall-dev/footfall/collector/sqlite/internal/colstore"
	"github.com/footfall-dev/footfall/collector/store"
)

// A rollup holds the totals and tables of a closed day. It is always exact: a transaction
// that adds an event to its day removes it.

// dayOf is a day of a site.
type dayOf struct {
	site uint32
	day  int64
}

func (d dayOf) begin() int64 { return d.day * colstore.MsPerDay }
func (d dayOf) end() int64   { return (d.day + 1) * colstore.MsPerDay }

// watch records whether the events of a span change while data is derived from them
// concurrently with the writer.
type watch struct {
	site     uint32
	from, to int64
	changed  bool
}

// derived is data computed from a snapshot of a span. It is kept unless the span has changed
// meanwhile.
type derived struct {
	watch
	read func(*reading) error
	keep func(*writer) error
	kept bool
}

// derive computes and keeps d. Only one call may run at a time.
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
	if err != nil { // the writer may still be using d
		return false, err
	}
	return d.kept, nil
}

// change is the part of a day that a transaction changes.
type change struct {
	first, last int64 // times of events
	events      int
}

// touch records that the transaction adds an event.
func (w *writer) touch(site uint32, at int64) {
	if w.watch != nil && w.watch.site == site && w.watch.from <= at && at < w.watch.to {
		w.watch.changed = true
	}
	d := dayOf{site, colstore.DayOf(at)}
	c, known := w.touched[d]
	if !known {
		c = change{at, at, 0}
	}
	w.touched[d] = change{min(c.first, at), max(c.last, at), c.events + 1}
}

// removeStale removes the rollups and pieces of spans that the transaction changes.
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
			c.events += w.pieces // a piece must be made again
			w.touched[d] = c
		}
	}
	return nil
}

// stalePieces removes the pieces of a day that begin at or before ?4 and end after ?3. Only
// the last piece that begins at or before ?3 can end after it.
const stalePieces = `DELETE FROM piece WHERE site = ?1 AND until > ?3 AND first <= ?4 AND first >=
	coalesce((SELECT max(first) FROM piece WHERE site = ?1 AND first BETWEEN ?2 AND ?3), ?2)`

// newRollup returns the rollup of a day; without events nothing is kept. It also combines the
// day's pieces into one unless that is too long, which halves the work of reports about
// single events.
func newRollup(of dayOf, longest int) *derived {
	var tables, whole colstore.Parts
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

// tables encodes the totals and tables of a day; nil without events.
func (d *span) tables() (parts colstore.Parts, events int64, err error) {
	totals, err := d.countTotals()
	if events = totals.Day.Pageviews + totals.Day.Events; err != nil || events == 0 {
		return nil, 0, err
	}
	parts = colstore.Parts{colstore.PartTotals: totals.Encode()}
	for by := range colstore.Dimensions {
		t := colstore.NewTopTable(store.Dimension(by))
		if err := t.CountDay(d.batches(t.Columns(), false)); err != nil {
			return nil, 0, err
		}
		if parts[colstore.PartTop+by], err = t.Encode(d.textsOf); err != nil {
			return nil, 0, err
		}
	}
	props, err := d.countProps(func(uint32) bool { return true })
	parts[colstore.PartProps] = props.Encode()
	return parts, events, err
}
