package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strings"
)

// Earlier versions gave each new text a new ID, also when it had more than 32 bits. The events that use
// such an ID cannot be read, and their day has no segment or rollup with it.

// renumber gives new IDs to texts whose ID has more than 32 bits, in one transaction that reads all events.
func renumber(ctx context.Context, db *sql.DB) error {
	var some bool
	if err := db.QueryRowContext(ctx, "SELECT coalesce(max(id), 0) > ? FROM text", math.MaxUint32).Scan(&some); err != nil || !some {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // no effect after Commit
	if err := (&converter{ctx, tx}).renumber(); err != nil {
		return fmt.Errorf("giving new numbers to texts whose number is too large: %w", err)
	}
	return tx.Commit()
}

func (c *converter) renumber() error {
	if err := c.exec("CREATE TABLE renumbered (old INTEGER PRIMARY KEY, new INTEGER NOT NULL)"); err != nil {
		return err
	}
	if err := c.chooseIDs(); err != nil {
		return err
	}
	columns := strings.Split(eventTexts, ", ")
	for table, columns := range map[string][]string{"event": columns, "text": {"id"}, "unswept": {"id"}, "key": {"site"}} {
		if err := c.exec(renumberColumns(table, columns), math.MaxUint32); err != nil {
			return err
		}
	}
	if err := c.exec("UPDATE sweep SET site = 0, at = ?, seq = 0", math.MinInt64); err != nil { // it may have passed events of a site
		return err
	}
	return c.exec("DELETE FROM block WHERE id >= ?; DROP TABLE renumbered", blockCount)
}

// renumberColumns returns a statement that sets the new IDs in columns. Its parameter is the largest ID that
// stays.
func renumberColumns(table string, columns []string) string {
	var set, where []string
	for _, column := range columns {
		set = append(set, column+" = coalesce((SELECT new FROM renumbered WHERE old = "+column+"), "+column+")")
		where = append(where, column+" > ?1")
	}
	return "UPDATE " + table + " SET " + strings.Join(set, ", ") + " WHERE " + strings.Join(where, " OR ")
}

// chooseIDs chooses the lowest free IDs.
func (c *converter) chooseIDs() error {
	var large, free []int64
	var id int64
	if err := eachRow(c.ctx, c.tx, "SELECT id FROM text WHERE id > ?", []any{&id}, func() { large = append(large, id) }, math.MaxUint32); err != nil {
		return err
	}
	next := int64(1)
	err := eachRow(c.ctx, c.tx, "SELECT id FROM text WHERE id <= ? ORDER BY id", []any{&id}, func() {
		free = appendRange(free, next, min(id, next+int64(len(large)-len(free))))
		next = id + 1
	}, math.MaxUint32)
	if err != nil {
		return err
	}
	free = appendRange(free, next, min(blockCount*blockLength, next+int64(len(large)-len(free))))
	if len(free) < len(large) || free[len(large)-1] >= blockCount*blockLength {
		return errors.New("no number is free: restore a backup")
	}
	for i, old := range large {
		if err := c.exec("INSERT INTO renumbered VALUES (?, ?)", old, free[i]); err != nil {
			return err
		}
	}
	return nil
}
