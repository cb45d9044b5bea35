package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"math"
	"slices"
	"time"

	"github.com/footfall-dev/footfall/collector/sqlite/internal/colstore"
)

// Forget uses small transactions, so that events are added between them.
const (
	forgottenEvents = 5000
	forgottenTexts  = 1000
)

func (c *compactor) forget(ctx context.Context, site string, before time.Time) error {
	if err := c.file.enter(ctx); err != nil {
		return err
	}
	if err := c.forgetting.wait(ctx); err != nil {
		return err
	}
	defer c.forgetting.done()
	end := int64(math.MaxInt64)
	if !before.IsZero() {
		end = millis(before)
	}
	some := false
	for more := true; more; {
		err := c.writer.write(ctx, func(conn *connection) (err error) {
			more, err = conn.forget(site, end)
			return err
		})
		if err != nil {
			return err
		}
		some = some || more
	}
	if !some {
		return nil
	}
	return c.sweep(ctx)
}

// forget removes the oldest events before a time, with their segments and rollups, and reports
// whether there were any.
func (c *connection) forget(site string, end int64) (more bool, err error) {
	id, err := c.intern.id(site)
	if err != nil {
		return false, err
	}
	var last sql.NullInt64 // time of the last event to remove
	err = c.conn.QueryRowContext(background, "SELECT max(at) FROM (SELECT at FROM event WHERE site = ? AND at < ? ORDER BY at LIMIT ?)", id, end, forgottenEvents).Scan(&last)
	if err != nil || !last.Valid {
		return false, err
	}
	if c.changes.watch != nil {
		c.changes.watch.changed = true
	}
	for _, statement := range []string{
		"DELETE FROM rollup WHERE site = ?1 AND day <= ?3",
		"DELETE FROM piece WHERE site = ?1 AND first <= ?2",
		"DELETE FROM event WHERE site = ?1 AND at <= ?2",
	} {
		if err := c.exec(statement, id, last.Int64, colstore.DayOf(last.Int64)); err != nil {
			return false, err
		}
	}
	return true, nil
}

// sweep removes unused texts. It searches for them concurrently with the writer, which
// notes the IDs that it returns meanwhile, so that their texts stay.
func (c *compactor) sweep(ctx context.Context) error {
	if err := c.noteIDs(ctx, make(map[int64]struct{})); err != nil {
		return err
	}
	unused, err := c.unused(ctx)
	if err == nil {
		err = c.removeTexts(ctx, unused)
	}
	// Not ctx: noting must end in any case.
	return c.file.failed(ctx, cmp.Or(err, c.noteIDs(context.WithoutCancel(ctx), nil)))
}

// noteIDs starts noting the IDs that the writer returns, or ends it if given is nil.
func (c *compactor) noteIDs(ctx context.Context, given map[int64]struct{}) error {
	return c.writer.write(ctx, func(conn *connection) error {
		conn.intern.given = given
		return nil
	})
}

func (c *compactor) removeTexts(ctx context.Context, ids []int64) error {
	for some := range slices.Chunk(ids, forgottenTexts) {
		if err := c.writer.write(ctx, func(conn *connection) error { return conn.removeTexts(some) }); err != nil {
			return err
		}
	}
	return nil
}

// unused returns the IDs of unused texts. It reads all events, which takes a second for a
// million.
func (c *compactor) unused(ctx context.Context) (unused []int64, err error) {
	var used marks
	m := &used
	texts := []any{m, m} // site and origin
	for range textColumns {
		texts = append(texts, m)
	}
	err = c.reader.view(ctx, func(r *reading) error {
		if err := eachRow(r.ctx, r.tx, "SELECT site, origin, "+textColumnNames+" FROM event", texts, func() {}); err != nil {
			return err
		}
		if err := eachRow(r.ctx, r.tx, "SELECT DISTINCT site FROM key", []any{m}, func() {}); err != nil {
			return err
		}
		var id int64
		return eachRow(r.ctx, r.tx, "SELECT id FROM text", []any{&id}, func() {
			if !used.has(id) {
				unused = append(unused, id)
			}
		})
	})
	return unused, err
}

func (c *connection) removeTexts(ids []int64) error {
	for _, id := range ids {
		if _, given := c.intern.given[id]; given {
			continue
		}
		if err := c.exec("DELETE FROM text WHERE id = ?", id); err != nil {
			return err
		}
	}
	c.intern.reset()
	return nil
}
