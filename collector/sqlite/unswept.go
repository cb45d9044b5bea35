package sqlite

import (
	"encoding/json"
	"math"
)

// The table unswept has each text that no event uses, and texts that may be such: a transaction that
// removes events notes their texts there, and one that adds an event removes its texts from there.

// Statements of unswept.
const (
	anyUnswept = "SELECT EXISTS (SELECT 1 FROM unswept)"
	noteText   = "INSERT INTO unswept VALUES (?, ?) ON CONFLICT DO UPDATE SET round = excluded.round"
)

// noteTexts notes texts for the next sweep: the current one may have read past an event that uses
// them.
func (c *connection) noteTexts(texts idSet) error {
	c.intern.drop(texts)
	c.intern.noted = true
	var round int64
	if err := c.conn.QueryRowContext(background, "SELECT round FROM sweep").Scan(&round); err != nil {
		return err
	}
	for id := range texts {
		if _, err := c.note.ExecContext(background, id, round+1); err != nil {
			return err
		}
	}
	return nil
}

// noteUnused notes texts that a search has found, and that the search is over if it is. A text that
// an event uses since does no harm: the next sweep finds the event.
func (c *connection) noteUnused(ids []int64, over bool) error {
	texts := make(idSet, len(ids))
	for _, id := range ids {
		texts[id] = struct{}{}
	}
	if err := c.noteTexts(texts); err != nil || !over {
		return err
	}
	return c.exec("UPDATE sweep SET searched = 1")
}

// beginSweep begins the next sweep.
func (c *connection) beginSweep() error {
	return c.exec("UPDATE sweep SET round = round + 1, begun = 1, site = 0, at = ?, seq = 0", math.MinInt64)
}

// keepTexts removes the texts that a sweep has found in events from unswept.
func (c *connection) keepTexts(round int64, used []int64) error {
	ids, err := json.Marshal(used)
	if err != nil {
		return err
	}
	return c.exec("DELETE FROM unswept WHERE round <= ? AND id IN (SELECT value FROM json_each(?))", round, string(ids))
}

// saveSweep saves how far a sweep has read.
func (c *connection) saveSweep(at position) error {
	return c.exec("UPDATE sweep SET site = ?, at = ?, seq = ?", at.site, at.at, at.seq)
}

// removeTexts removes texts above an ID that a sweep did not find, at most limit, and returns the
// last one, or 0 if there are no more. A site whose keys are remembered stays in unswept.
func (c *connection) removeTexts(round, after int64, limit int) (last int64, err error) {
	const batch = "SELECT id FROM unswept WHERE id > ?1 AND round <= ?2 ORDER BY id LIMIT ?3"
	err = c.conn.QueryRowContext(background, "SELECT coalesce(max(id), 0) FROM ("+batch+")", after, round, limit).Scan(&last)
	if err != nil || last == 0 {
		return 0, err
	}
	const unless = " AND NOT EXISTS (SELECT 1 FROM key WHERE site = "
	removed, err := listOf(c.conn, "DELETE FROM text WHERE id IN ("+batch+")"+unless+"text.id) RETURNING id", after, round, limit)
	if err != nil {
		return 0, err
	}
	if err := c.exec("DELETE FROM unswept WHERE id IN ("+batch+")"+unless+"unswept.id)", after, round, limit); err != nil {
		return 0, err
	}
	return last, c.intern.new.freed(removed)
}

// endSweep ends a sweep, and reports whether texts were noted meanwhile.
func (c *connection) endSweep(round int64) (more bool, err error) {
	if err := c.exec("UPDATE sweep SET begun = 0"); err != nil {
		return false, err
	}
	if err := c.exec("DELETE FROM record WHERE kind = ? AND id = ?", kindUnreadable, unreadableSweep); err != nil {
		return false, err
	}
	if err := c.conn.QueryRowContext(background, anyUnswept).Scan(&c.intern.noted); err != nil {
		return false, err
	}
	err = c.conn.QueryRowContext(background, "SELECT EXISTS (SELECT 1 FROM unswept WHERE round > ?)", round).Scan(&more)
	return more, err
}
