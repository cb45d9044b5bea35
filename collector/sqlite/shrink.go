package sqlite

import (
	"context"
	"database/sql"
)

// SQLite uses the pages of removed data for new data, and shortens the file only if it is asked to. It
// can do so in small pieces if the file has an entry for each page that says what points to it
// (auto_vacuum). Files that earlier versions made do not have this; the copy of a backup does.

// requireEntries has an empty file, or the copy that VACUUM INTO makes of another, get the entries.
func requireEntries(ctx context.Context, db *sql.DB) error {
	var mode int
	err := db.QueryRowContext(ctx, "PRAGMA auto_vacuum").Scan(&mode)
	if err == nil && mode == 0 { // else a copy has them anyway, and SQLite would write the setting to the file
		_, err = db.ExecContext(ctx, "PRAGMA auto_vacuum = incremental")
	}
	return err
}

const (
	// A share of the pages may be free, or a number of them, for new data: otherwise a file that loses
	// old events each day would shrink and grow each day.
	spareShare = 8
	sparePages = 4096

	givenPages = 500 // that a transaction gives back, which takes some milliseconds
)

// space is what a file takes on disk, in pages.
type space struct {
	size, pages, free int64
	shrinks           bool // the file can give back pages
	reserved          bool // SQLite leaves the ends of pages to an extension
}

// canBlank reports whether slackOf can tell which pages belong to trees.
func (s space) canBlank() bool { return s.shrinks && !s.reserved }

// space returns the space of the file.
func (r *reading) space() (s space, err error) {
	err = r.tx.QueryRowContext(r.ctx, `SELECT page_size, page_count, freelist_count, auto_vacuum = 2, coalesce((SELECT substr(data, 21, 1) <> x'00' FROM sqlite_dbpage WHERE pgno = 1), 0)
		FROM pragma_page_size, pragma_page_count, pragma_freelist_count, pragma_auto_vacuum`).Scan(&s.size, &s.pages, &s.free, &s.shrinks, &s.reserved)
	return s, err
}

// giveBack gives back some pages if too many are free, and reports whether it has.
func (s *sweeper) giveBack(ctx context.Context) (given bool, err error) {
	var now space
	err = s.reader.view(ctx, func(r *reading) (err error) {
		now, err = r.space()
		return err
	})
	spare := now.free - max(s.spare, now.pages/spareShare)
	if err != nil || !now.shrinks || spare <= 0 {
		return false, err
	}
	err = s.writer.write(ctx, func(c *connection) error { return c.shrink(min(spare, s.given)) })
	s.dirty = s.dirty || err == nil // the file is shortened when the log is emptied
	return err == nil, err
}
