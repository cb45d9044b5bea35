package sqlite

import (
	"context"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"errors"
	"slices"
)

// SQLite overwrites what it removes (secure_delete). But when it moves rows between pages, a copy may
// stay in the unallocated part of a page, also after the row is removed: see DESIGN.md. So a sweep ends
// with blanking these parts. "Database File Format" describes pages in its sections 1.6 and 1.8.

// slackPage is a page of a b-tree, blanked.
type slackPage struct {
	number int64
	data   []byte
}

// querier is a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// slackOf returns the pages to blank in a group: the pages that one page of the pointer map
// describes. It reports whether the file has the group. The space of the file must say that it can.
func slackOf(ctx context.Context, q querier, group, pageSize int64) (slack []slackPage, found bool, err error) {
	described := pageSize / entrySize
	first := group*(described+1) + 2
	var entries []byte
	err = q.QueryRowContext(ctx, "SELECT data FROM sqlite_dbpage WHERE pgno = ?", first).Scan(&entries)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	trees, err := json.Marshal(treesIn(entries, first+1))
	if err != nil {
		return nil, false, err
	}
	rows, err := q.QueryContext(ctx, "SELECT pgno, data FROM json_each(?) CROSS JOIN sqlite_dbpage ON pgno = value", string(trees))
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var number int64
		var data sql.RawBytes
		if err := rows.Scan(&number, &data); err != nil {
			return nil, false, err
		}
		if page := append([]byte(nil), data...); blank(page) {
			slack = append(slack, slackPage{number: number, data: page})
		}
	}
	return slack, true, rows.Err()
}

// entrySize is how many bytes of a page of the pointer map describe a page. The first is its type.
const entrySize = 5

// treesIn returns the numbers of the pages of b-trees that a page of the pointer map describes.
func treesIn(entries []byte, first int64) (numbers []int64) {
	const root, inner = 1, 5
	for i := 0; i+entrySize <= len(entries); i += entrySize {
		if entries[i] == root || entries[i] == inner {
			numbers = append(numbers, first+int64(i/entrySize))
		}
	}
	return numbers
}

// blank writes zeros over the unallocated part of a page of a b-tree, which lies between the list of its
// cells and the cells, and reports whether it changed the page. It changes no damaged page.
func blank(page []byte) (changed bool) {
	var list int
	switch page[0] {
	case 10, 13: // a leaf
		list = 8
	case 2, 5:
		list = 12
	default:
		return false
	}
	cells := int(binary.BigEndian.Uint16(page[3:]))
	from, to := list+2*cells, int(binary.BigEndian.Uint16(page[5:]))
	if from > to || to > len(page) {
		return false
	}
	for i := list; i < from; i += 2 {
		if int(binary.BigEndian.Uint16(page[i:])) < to {
			return false
		}
	}
	changed = slices.ContainsFunc(page[from:to], func(b byte) bool { return b != 0 })
	clear(page[from:to])
	return changed
}

// blank blanks the pages of a group. They may have changed since they were looked at.
func (c *connection) blank(group, pageSize int64) error {
	slack, _, err := slackOf(background, c.conn, group, pageSize)
	if err != nil {
		return err
	}
	for _, page := range slack {
		if err := c.exec("UPDATE sqlite_dbpage SET data = ? WHERE pgno = ?", page.data, page.number); err != nil {
			return err
		}
	}
	return nil
}
