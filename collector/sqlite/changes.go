package sqlite

import "github.com/footfall-dev/footfall/collector/sqlite/internal/colstore"

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

// watch records whether the events of a span change while data is derived from them
// concurrently with the writer.
type watch struct {
	site     uint32
	from, to int64
	changed  bool
}
