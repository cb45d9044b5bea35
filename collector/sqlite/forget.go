package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"time"

	"github.com/footfall-dev/footfall/collector/sqlite/internal/colstore"
)

// forgottenAtOnce is how many events or keys a transaction of Forget removes. Events are added between
// two of them.
const forgottenAtOnce = 5000

// removal is a transaction of Forget. It gets the ID of the site, and reports whether to repeat it.
type removal func(conn *connection, site int64) (more bool, err error)

func (c *compactor) forget(ctx context.Context, site string, before time.Time) error {
	removals := []removal{eventsBefore(millis(before))}
	if before.IsZero() {
		removals = []removal{eventsBefore(math.MaxInt64), (*connection).forgetKeys, (*connection).forgetSite}
	}
	for _, remove := range removals {
		for more := true; more; {
			var err error
			if more, err = c.forgetSome(ctx, site, remove); err != nil {
				return err
			}
		}
	}
	return nil
}

func eventsBefore(end int64) removal {
	return func(conn *connection, site int64) (bool, error) { return conn.forgetEvents(site, end) }
}

// forgetSome does a removal, unless the file has nothing of the site.
func (c *compactor) forgetSome(ctx context.Context, site string, remove removal) (bool, error) {
	if err := c.file.enter(ctx); err != nil {
		return false, err
	}
	if err := c.forgetting.wait(ctx); err != nil {
		return false, err
	}
	defer c.forgetting.done()
	more := false
	err := c.writer.write(ctx, func(conn *connection) error {
		id, found, err := conn.intern.existing(site)
		if err == nil && found {
			more, err = remove(conn, id)
		}
		return conn.unlessReported(site, err)
	})
	if isUnreported(err) {
		c.writer.noteReported(ctx, site+"/")
	}
	if err != nil { // the writer may still be using more
		return false, err
	}
	return more, nil
}

// forgetEvents removes the oldest events before a time, with their segments and rollups, notes their
// texts, and reports whether there are more.
func (c *connection) forgetEvents(site, end int64) (more bool, err error) {
	at, seq := end, int64(math.MinInt64) // of the first event that stays
	err = c.conn.QueryRowContext(background, "SELECT at, seq FROM event WHERE site = ? AND at < ? ORDER BY at, seq LIMIT 1 OFFSET ?", site, end, forgottenAtOnce).Scan(&at, &seq)
	more = err == nil
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return false, err
	}
	texts := make(idSet)
	last, err := c.removeEvents(site, at, seq, texts)
	if err != nil || len(texts) == 0 {
		return false, err
	}
	if c.changes.watch != nil {
		c.changes.watch.changed = true
	}
	if err := c.exec("DELETE FROM rollup WHERE site = ? AND day <= ?", site, colstore.DayOf(last)); err != nil {
		return false, err
	}
	if err := c.exec("DELETE FROM piece WHERE site = ? AND first <= ?", site, last); err != nil {
		return false, err
	}
	return more, c.noteTexts(texts)
}

// removeEvents removes the events of a site before one, and returns the time of the last one and the
// IDs of their texts.
func (c *connection) removeEvents(site, at, seq int64, texts idSet) (last int64, err error) {
	rows, err := c.conn.QueryContext(background, "DELETE FROM event WHERE site = ? AND (at, seq) < (?, ?) RETURNING at, "+eventTexts, site, at, seq)
	if err != nil {
		return 0, err
	}
	defer func() { _ = rows.Close() }()
	var of int64
	last = math.MinInt64
	into := append([]any{&of}, textDestinations(texts)...)
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return 0, err
		}
		last = max(last, of)
	}
	return last, rows.Err()
}

// forgetKeys removes keys of a site and reports whether there are more.
func (c *connection) forgetKeys(site int64) (more bool, err error) {
	result, err := c.conn.ExecContext(background, "DELETE FROM key WHERE site = ?1 AND key IN (SELECT key FROM key WHERE site = ?1 LIMIT ?2)", site, forgottenAtOnce)
	if err != nil {
		return false, err
	}
	removed, err := result.RowsAffected()
	return removed == forgottenAtOnce, err
}

// forgetSite notes the ID of a site as unused. A sweep keeps it if an event uses it.
func (c *connection) forgetSite(site int64) (more bool, err error) {
	return false, c.noteTexts(idSet{site: {}})
}

// idSet is a set of IDs of texts.
type idSet map[int64]struct{}

// Scan implements sql.Scanner. It adds an ID.
func (s idSet) Scan(value any) error {
	id, err := textID(value)
	if err == nil && id != 0 {
		s[id] = struct{}{}
	}
	return err
}
