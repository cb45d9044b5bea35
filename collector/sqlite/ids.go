package sqlite

import (
	"database/sql"
	"errors"
	"sync/atomic"
)

// Events, segments and rollups have texts as IDs of 32 bits, so the ID of a removed text is used again.
// A block is a range of consecutive IDs. New texts get the free IDs of a block in ascending order, and
// then the free IDs of another block. The file has the number of the current block, and how many IDs of
// each other block were freed.
//
// Readers cache texts by ID. When free IDs are found, the generation of IDs in the file rises: a text
// that was read in one generation is not valid in the next.

const (
	blockLength = 1 << 16 // IDs of a block
	blockCount  = 0xF000  // blocks in use: the last 2^28 IDs are not, so that sums with an ID have 32 bits
)

// errNoIDs is returned for an event with a new text if no ID is free.
var errNoIDs = errors.New("has as many different texts, such as paths and names, as it can: delete a site, or set a retention")

// Statements of allocator.
const (
	currentBlock = "SELECT value FROM counter WHERE name = 'block'"

	// nextBlock selects a block with at least a quarter of its IDs free, because all other IDs of the
	// block must be read to find them; else a block that was never used; else the one with the most
	// free IDs.
	nextBlock = `SELECT coalesce(
		(SELECT id FROM block WHERE free >= ?1 / 4 AND id < ?2 ORDER BY id LIMIT 1),
		(SELECT min(id) FROM (SELECT 0 AS id UNION ALL SELECT id + 1 FROM block) AS new WHERE id < ?2 AND NOT EXISTS (SELECT 1 FROM block WHERE id = new.id)),
		(SELECT id FROM block WHERE free > 0 AND id < ?2 ORDER BY free DESC LIMIT 1))`

	useBlock = `INSERT INTO block VALUES (?1, 0) ON CONFLICT DO UPDATE SET free = 0;
		UPDATE counter SET value = ?1 WHERE name = 'block';
		UPDATE counter SET value = value + 1 WHERE name = 'generation'`
)

// allocator gives IDs to new texts. It belongs to a connection.
type allocator struct {
	conn           *sql.Conn
	length, blocks int64       // blockLength and blockCount
	free           []int64     // of the current block, ascending; nil if they must be read
	full           atomic.Bool // no block has free IDs; anyone may read it
}

// reset drops the free IDs that a transaction has read or given before it was rolled back. full is the
// value that a.full had before the transaction.
func (a *allocator) reset(full bool) {
	a.free = nil
	a.full.Store(full)
}

// findFull sets full when the file is opened.
func (a *allocator) findFull() error {
	var next sql.NullInt64
	if err := a.conn.QueryRowContext(background, nextBlock, a.length, a.blocks).Scan(&next); err != nil || next.Valid {
		return err
	}
	var block int64
	if err := a.conn.QueryRowContext(background, currentBlock).Scan(&block); err != nil {
		return err
	}
	free, err := a.freeOf(block)
	a.full.Store(err == nil && len(free) == 0)
	return err
}

// next returns the ID for a new text.
func (a *allocator) next() (id int64, err error) {
	switch {
	case a.full.Load():
		return 0, errNoIDs
	case a.free == nil:
		err = a.use(currentBlock)
	}
	for err == nil && len(a.free) == 0 {
		err = a.use(nextBlock, a.length, a.blocks)
	}
	if err != nil {
		return 0, err
	}
	id, a.free = a.free[0], a.free[1:]
	return id, nil
}

// use finds the free IDs of the block that a query selects.
func (a *allocator) use(query string, args ...any) error {
	var block sql.NullInt64
	if err := a.conn.QueryRowContext(background, query, args...).Scan(&block); err != nil {
		return err
	}
	if !block.Valid {
		a.full.Store(true)
		return errNoIDs
	}
	free, err := a.freeOf(block.Int64)
	if err != nil {
		return err
	}
	a.free = free
	_, err = a.conn.ExecContext(background, useBlock, block.Int64)
	return err
}

// freeOf returns the IDs of a block that no text has. ID 0 is the empty text.
func (a *allocator) freeOf(block int64) ([]int64, error) {
	first := block * a.length
	used, err := listOf(a.conn, "SELECT id FROM text WHERE id >= ? AND id < ? ORDER BY id", first, first+a.length)
	if err != nil {
		return nil, err
	}
	free := make([]int64, 0, a.length) // not nil
	next := max(first, 1)
	for _, id := range used {
		free = appendRange(free, next, id)
		next = id + 1
	}
	return appendRange(free, next, first+a.length), nil
}

// appendRange appends the numbers from one up to another.
func appendRange(to []int64, from, end int64) []int64 {
	for ; from < end; from++ {
		to = append(to, from)
	}
	return to
}

// freed notes that texts were removed. Their IDs are used again when their block is.
func (a *allocator) freed(ids []int64) error {
	if len(ids) > 0 {
		a.full.Store(false)
	}
	counts := make(map[int64]int64)
	for _, id := range ids {
		counts[id/a.length]++
	}
	for block, n := range counts {
		if _, err := a.conn.ExecContext(background, "UPDATE block SET free = free + ? WHERE id = ?", n, block); err != nil {
			return err
		}
	}
	return nil
}
