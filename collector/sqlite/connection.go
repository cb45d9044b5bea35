package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/footfall-dev/footfall/collector/sqlite/internal/colstore"
	"github.com/footfall-dev/footfall/collector/store"
)

// connection is the only connection that writes, with the cached state of the file. One goroutine uses
// it at a time.
type connection struct {
	conn       *sql.Conn
	file       string
	claimed    bool // the log belongs to the file
	statements []*sql.Stmt
	insert     *sql.Stmt
	args       []any // of insert
	note       *sql.Stmt
	changed    func(map[siteDay]change)

	intern      interner
	keys        keys
	changes     changes
	seq, seqEnd int64 // next number, and end of the reserved ones
}

func newConnection(ctx context.Context, db *sql.DB, file string, cfg *Config, changed func(map[siteDay]change)) (*connection, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	c := &connection{
		conn: conn, file: file, args: make([]any, fixedParameters+len(textColumns)), changed: changed,
		intern:  interner{new: allocator{conn: conn, length: blockLength, blocks: blockCount}},
		keys:    keys{conn: conn, now: cfg.keyNow, window: cfg.IdempotencyWindow},
		changes: changes{touched: make(map[siteDay]change)},
	}
	for query, stmt := range map[string]**sql.Stmt{
		insertEvent:   &c.insert,
		staleRollup:   &c.changes.rollup,
		staleSegments: &c.changes.segments,
		keyQuery:      &c.keys.insert,
		findText:      &c.intern.find,
		insertText:    &c.intern.insert,
		keepText:      &c.intern.keep,
		noteText:      &c.note,
	} {
		if *stmt, err = conn.PrepareContext(ctx, query); err != nil {
			return nil, errors.Join(err, c.close())
		}
		c.statements = append(c.statements, *stmt)
	}
	if err := conn.QueryRowContext(ctx, anyUnswept).Scan(&c.intern.noted); err != nil {
		return nil, errors.Join(err, c.close())
	}
	_ = c.intern.new.findFull() // otherwise the first event that is refused tells it
	return c, nil
}

// close closes the statements, too: SQLite keeps a connection that has any, and its files.
func (c *connection) close() error {
	var errs []error
	for _, stmt := range c.statements {
		errs = append(errs, stmt.Close())
	}
	return errors.Join(append(errs, c.conn.Close())...)
}

// exec runs a statement.
func (c *connection) exec(statement string, args ...any) error {
	_, err := c.conn.ExecContext(background, statement, args...)
	return err
}

// claim makes the log belong to the file, unless it does already. Nothing may be written before. If the
// disk is full when the store is opened, the next writes try it again.
func (c *connection) claim(ctx context.Context) error {
	if c.claimed {
		return nil
	}
	err := claimLog(ctx, c.file, c.conn)
	c.claimed = err == nil
	return err
}

// listOf returns the numbers that a statement selects.
func listOf(conn *sql.Conn, statement string, args ...any) (all []int64, err error) {
	rows, err := conn.QueryContext(background, statement, args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var n int64
		if err := rows.Scan(&n); err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return all, rows.Err()
}

// transact runs f in a transaction. After an error it rolls back the file and clears the
// cached state.
func (c *connection) transact(f func() error) error {
	if err := c.claim(background); err != nil {
		return err
	}
	if err := c.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	full := c.intern.new.full.Load()
	err := f()
	if err == nil {
		err = c.exec("COMMIT")
	}
	if err != nil {
		// SQLite may have rolled back already: then this fails harmlessly.
		_ = c.exec("ROLLBACK")
		c.intern.reset()
		c.intern.new.reset(full)
		c.seq, c.seqEnd = 0, 0
		c.keys.cleaned = time.Time{}
		clear(c.changes.touched)
		return err
	}
	c.changed(c.changes.touched)
	clear(c.changes.touched)
	return nil
}

// addEvent adds an event to the transaction, unless it is a duplicate. After errNoIDs nothing of the
// event is in the transaction, which may go on.
func (c *connection) addEvent(e *store.Event) (added bool, err error) {
	site, err := c.intern.id(e.Site)
	if err != nil {
		return false, err
	}
	if e.Key != "" {
		if again, err := c.keys.duplicate(site, e.Key); again || err != nil {
			return false, err
		}
	}
	origin, rest := splitURL(e.URL, e.Path)
	if err := c.internTexts(e, origin); err != nil {
		if errors.Is(err, errNoIDs) {
			err = cmp.Or(c.takeBack(site, e.Key), err)
		}
		return false, err
	}
	seq, err := c.nextSeq()
	if err != nil {
		return false, err
	}
	at, a := e.At.UnixMilli(), c.args
	a[0], a[1], a[2], a[3], a[5], a[6] = site, at, seq, int64(e.Visitor), rest, nil
	if len(e.Props) > 0 {
		a[6] = colstore.EncodeProps(e.Props)
	}
	if _, err := c.insert.ExecContext(background, a...); err != nil {
		return false, err
	}
	c.changes.touch(uint32(site), at)
	return true, nil
}

// internTexts sets the arguments of insert that are IDs of texts, except the site.
func (c *connection) internTexts(e *store.Event, origin string) (err error) {
	a := c.args
	clear(a)
	if a[4], err = c.intern.id(origin); err != nil {
		return err
	}
	for i := range textColumns {
		if a[fixedParameters+i], err = c.intern.id(*textColumns[i].Of(e)); err != nil {
			return err
		}
	}
	return nil
}

// takeBack removes the key of an event that is not added, and notes its texts, which may be new.
func (c *connection) takeBack(site int64, key string) error {
	texts := idSet{site: {}}
	for _, id := range c.args {
		if id != nil {
			_ = texts.Scan(id) // only IDs are set
		}
	}
	if err := c.exec("DELETE FROM key WHERE site = ? AND key = ?", site, key); err != nil {
		return err
	}
	return c.noteTexts(texts)
}

// reservedSeqs is how many numbers of events are reserved at a time.
const reservedSeqs = 1 << 16

// nextSeq reserves numbers in the file in blocks, so that none is ever used twice.
func (c *connection) nextSeq() (int64, error) {
	if c.seq == c.seqEnd {
		err := c.conn.QueryRowContext(background, "UPDATE counter SET value = value + ? WHERE name = 'seq' RETURNING value", reservedSeqs).Scan(&c.seqEnd)
		if err != nil {
			return 0, err
		}
		c.seq = c.seqEnd - reservedSeqs
	}
	c.seq++
	return c.seq - 1, nil
}

// splitURL returns the parts of a URL before and after its path. If the path does not occur
// there, origin is empty and rest is the whole URL.
func splitURL(url, path string) (origin, rest string) {
	start := strings.Index(url, "://")
	if start < 0 || path == "" {
		return "", url
	}
	slash := strings.IndexByte(url[start+3:], '/')
	if slash < 0 {
		return "", url
	}
	end := start + 3 + slash
	if after, ok := strings.CutPrefix(url[end:], path); ok {
		return url[:end], after
	}
	return "", url
}

// shrink gives back free pages. Each row of the statement is a page.
func (c *connection) shrink(pages int64) error {
	rows, err := c.conn.QueryContext(background, fmt.Sprintf("PRAGMA incremental_vacuum(%d)", pages))
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
	}
	return rows.Err()
}

func (c *connection) scrub() error {
	if err := c.claim(background); err != nil {
		return err
	}
	if err := c.exec("PRAGMA busy_timeout(0)"); err != nil {
		return err
	}
	var busy, pages, copied int
	err := c.conn.QueryRowContext(background, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &pages, &copied)
	if err == nil && busy != 0 {
		err = errBusy
	}
	return errors.Join(err, c.exec("PRAGMA busy_timeout(5000)"))
}

// errBusy is returned if the log cannot be emptied now.
var errBusy = fmt.Errorf("the log cannot be emptied while a report is read: %w", store.ErrBusy)
