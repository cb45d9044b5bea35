package sqlite

import (
	"github.com/footfall-dev/footfall/collector/sqlite/internal/colstore"
)

// siteDay is a day of a site.
type siteDay struct {
	site uint32
	day  int64
}

func (d siteDay) begin() int64 { return d.day * colstore.MsPerDay }
func (d siteDay) end() int64   { return (d.day + 1) * colstore.MsPerDay }

// watch notes whether the events of a span change while data is derived from them
// concurrently with the writer.
type watch struct {
	site     uint32
	from, to int64
	changed  bool
}

// change is the part of a day that a transaction changes.
type change struct {
	first, last int64 // times of events
	events      int
}

// touch notes that the transaction adds an event.
func (w *writer) touch(site uint32, at int64) {
	if w.watch != nil && w.watch.site == site && w.watch.from <= at && at < w.watch.to {
		w.watch.changed = true
	}
	d := siteDay{site, colstore.DayOf(at)}
	c, known := w.touched[d]
	if !known {
		c = change{at, at, 0}
	}
	w.touched[d] = change{min(c.first, at), max(c.last, at), c.events + 1}
}

// removeStale removes the rollups and segments of spans that the transaction changes.
func (w *writer) removeStale() error {
	for d, c := range w.touched {
		if _, err := w.staleRollup.ExecContext(background, d.site, d.day); err != nil {
			return err
		}
		result, err := w.staleSegments.ExecContext(background, d.site, d.begin(), c.first, c.last)
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); err != nil {
			return err
		} else if n > 0 {
			c.events += w.segmentLength // a segment must be made again
			w.touched[d] = c
		}
	}
	return nil
}

// staleSegments removes the segments of a day that begin at or before ?4 and end after ?3. Only
// the last segment that begins at or before ?3 can end after it.
const staleSegments = `DELETE FROM piece WHERE site = ?1 AND until > ?3 AND first <= ?4 AND first >=
	coalesce((SELECT max(first) FROM piece WHERE site = ?1 AND first BETWEEN ?2 AND ?3), ?2)`
