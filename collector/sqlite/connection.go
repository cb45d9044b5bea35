package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/footfall-dev/footfall/collector/sqlite/internal/colstore"
	"github.com/footfall-dev/footfall/collector/store"
)

// writer owns the only connection that writes, and all cached state of the file.
type writer struct {
	*Store
	conn       *sql.Conn
	statements []*sql.Stmt
	every      time.Duration

	batch []*job
	next  *job // taken from the queue, but not part of this batch
	last  time.Time

	intern interner
	insert *sql.Stmt
	key    *sql.Stmt
	args   []any // of insert

	staleRollup   *sql.Stmt
	staleSegments *sql.Stmt

	seq, seqEnd int64              // next number, and end of the reserved ones
	touched     map[siteDay]change // by the current transaction
	watch       *watch             // nil if there is none
	keysCleaned time.Time
}

func newWriter(ctx context.Context, s *Store, every time.Duration) (*writer, error) {
	conn, err := s.writing.Conn(ctx)
	if err != nil {
		return nil, err
	}
	w := &writer{Store: s, conn: conn, every: every, args: make([]any, fixedParameters+len(textColumns)), touched: make(map[siteDay]change)}
	for query, stmt := range map[string]**sql.Stmt{
		insertEvent: &w.insert,
		"DELETE FROM rollup WHERE site = ? AND day = ?": &w.staleRollup,
		staleSegments:                         &w.staleSegments,
		keyQuery:                              &w.key,
		"SELECT id FROM text WHERE value = ?": &w.intern.find,
		"INSERT INTO text (value) VALUES (?)": &w.intern.insert,
	} {
		if *stmt, err = conn.PrepareContext(ctx, query); err != nil {
			return nil, errors.Join(err, w.close())
		}
		w.statements = append(w.statements, *stmt)
	}
	return w, nil
}

// close closes the statements, too: SQLite keeps a connection that has any, and its files.
func (w *writer) close() error {
	var errs []error
	for _, stmt := range w.statements {
		errs = append(errs, stmt.Close())
	}
	return errors.Join(append(errs, w.conn.Close())...)
}

// transact runs f in a transaction. After an error it rolls back the file and clears the
// cached state.
func (w *writer) transact(f func() error) error {
	if _, err := w.conn.ExecContext(background, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	err := f()
	if err == nil {
		_, err = w.conn.ExecContext(background, "COMMIT")
	}
	if err != nil {
		// SQLite may have rolled back already: then this fails harmlessly.
		_, _ = w.conn.ExecContext(background, "ROLLBACK")
		w.intern.reset()
		w.seq, w.seqEnd = 0, 0
		w.keysCleaned = time.Time{}
		clear(w.touched)
		return err
	}
	w.due.addChanges(w.touched)
	clear(w.touched)
	return nil
}

// addEvent adds an event to the transaction, unless it is a duplicate.
func (w *writer) addEvent(e *store.Event) error {
	site, err := w.intern.id(e.Site)
	if err != nil {
		return err
	}
	if e.Key != "" {
		if again, err := w.duplicate(site, e.Key); again || err != nil {
			return err
		}
	}
	seq, err := w.nextSeq()
	if err != nil {
		return err
	}
	at, a := e.At.UnixMilli(), w.args
	origin, rest := splitURL(e.URL, e.Path)
	a[0], a[1], a[2], a[3], a[5], a[6] = site, at, seq, int64(e.Visitor), rest, nil
	if len(e.Props) > 0 {
		a[6] = colstore.EncodeProps(e.Props)
	}
	if a[4], err = w.intern.id(origin); err != nil {
		return err
	}
	for i := range textColumns {
		if a[fixedParameters+i], err = w.intern.id(textColumns[i].Text(e)); err != nil {
			return err
		}
	}
	if _, err := w.insert.ExecContext(background, a...); err != nil {
		return err
	}
	w.touch(uint32(site), at)
	return nil
}

// nextSeq reserves numbers in the file in blocks, so that none is ever used twice.
func (w *writer) nextSeq() (int64, error) {
	if w.seq == w.seqEnd {
		err := w.conn.QueryRowContext(background, "UPDATE counter SET value = value + ? WHERE name = 'seq' RETURNING value", reservedSeqs).Scan(&w.seqEnd)
		if err != nil {
			return 0, err
		}
		w.seq = w.seqEnd - reservedSeqs
	}
	w.seq++
	return w.seq - 1, nil
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

func (w *writer) scrub() error {
	if _, err := w.conn.ExecContext(background, "PRAGMA busy_timeout(0)"); err != nil {
		return err
	}
	var busy, pages, copied int
	err := w.conn.QueryRowContext(background, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &pages, &copied)
	if err == nil && busy != 0 {
		err = errBusy
	}
	_, reset := w.conn.ExecContext(background, "PRAGMA busy_timeout(5000)")
	return errors.Join(err, reset)
}

// errBusy is returned if the log cannot be emptied now.
var errBusy = fmt.Errorf("the log cannot be emptied while a report is read: %w", store.ErrBusy)
