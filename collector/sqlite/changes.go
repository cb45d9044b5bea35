package sqlite

import (
	"database/sql"

	"github.com/footfall-dev/footfall/collector/sqlite/internal/colstore"
)

// siteDay is a day of a site.
type siteDay struct {
	site uint32
	day  int64
}

func (d siteDay) begin() int64 { return d.day * colstore.MsPerDay }
func (d siteDay) end() int64   { return (d.day + 1) * colstore.MsPerDay }

// change is the part of a day that a transaction changes.
type change struct {
	first, last int64 // times of events
	events      int
	unpacked    bool // a segment was removed, and must be made again
}

// watch notes whether the events of a span change while data is derived from them
// concurrently with the writer.
type watch struct {
	site     uint32
	from, to int64
	changed  bool
}

// changes tracks what the current transaction changes.
type changes struct {
	rollup, segments *sql.Stmt // remove what is stale
	touched          map[siteDay]change
	watch            *watch // nil if there is none; it outlives transactions
}

// touch notes that the transaction adds an event.
func (c *changes) touch(site uint32, at int64) {
	if c.watch != nil && c.watch.site == site && c.watch.from <= at && at < c.watch.to {
		c.watch.changed = true
	}
	d := siteDay{site, colstore.DayOf(at)}
	day, known := c.touched[d]
	if !known {
		day = change{first: at, last: at}
	}
	c.touched[d] = change{first: min(day.first, at), last: max(day.last, at), events: day.events + 1}
}

// removeStale removes the rollups and segments of spans that the transaction changes.
func (c *changes) removeStale() error {
	for d, day := range c.touched {
		if _, err := c.rollup.ExecContext(background, d.site, d.day); err != nil {
			return err
		}
		result, err := c.segments.ExecContext(background, d.site, d.begin(), day.first, day.last)
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); err != nil {
			return err
		} else if n > 0 {
			day.unpacked = true
			c.touched[d] = day
		}
	}
	return nil
}

// Statements of changes. staleSegments removes the segments of a day that begin at or before ?4 and
// end after ?3. Only the last segment that begins at or before ?3 can end after it.
const (
	staleRollup   = "DELETE FROM rollup WHERE site = ? AND day = ?"
	staleSegments = `DELETE FROM piece WHERE site = ?1 AND until > ?3 AND first <= ?4 AND first >=
	coalesce((SELECT max(first) FROM piece WHERE site = ?1 AND first BETWEEN ?2 AND ?3), ?2)`
)
