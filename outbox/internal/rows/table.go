package rows

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// Row is a claimed row.
type Row struct {
	ID     string
	Key    string // idempotency_key
	Body   []byte // at most one byte more than Options.MaxBody
	Claims int    // how often it was claimed
}

// Options are what a Table needs.
type Options struct {
	DB      *sql.DB
	Dialect *Dialect
	Names   Names
	MaxBody int // of a row that is read
}

// Table is the two tables of an outbox, and the leases of one process. Times are those of the database.
type Table struct {
	db      *sql.DB
	dialect *Dialect
	s       statements // with names
	process int64
	maxBody int
}

// New returns a Table. It does no I/O.
func New(o Options) *Table {
	with := o.Dialect.with(o.Names)
	s := o.Dialect.statements
	for _, one := range s.all() {
		*one = with(*one)
	}
	return &Table{db: o.DB, dialect: o.Dialect, s: s, process: 1 + rand.Int64N(1<<62), maxBody: o.MaxBody}
}

// all returns all statements.
func (s *statements) all() []*string {
	return []*string{
		&s.insert, &s.peek, &s.claim, &s.pick, &s.lease, &s.extend, &s.free, &s.later, &s.remove, &s.recover,
		&s.forget, &s.lock, &s.reject, &s.listed, &s.lockRejected, &s.retry, &s.purge, &s.clock, &s.older, &s.lag,
	}
}

// Execer is a transaction or a database.
type Execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// Insert inserts a row.
func (t *Table) Insert(ctx context.Context, tx Execer, id, key string, body []byte) error {
	_, err := tx.ExecContext(ctx, t.s.insert, id, key, body)
	return err
}

// Peek reports whether a row may be claimed.
func (t *Table) Peek(ctx context.Context) (bool, error) { return t.exists(ctx, t.s.peek) }

func (t *Table) exists(ctx context.Context, query string, args ...any) (bool, error) {
	var one int
	err := t.db.QueryRowContext(ctx, query, args...).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// Claim leases up to n rows whose lease is over, or that have none. If again is true, it claims only rows that
// were claimed before.
func (t *Table) Claim(ctx context.Context, n int, again bool, lease time.Duration) (claimed []Row, err error) {
	err = t.inTx(ctx, func(tx *sql.Tx) error {
		claimed, err = t.claim(ctx, tx, n, again, lease)
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(claimed, func(a, b Row) int { return strings.Compare(a.ID, b.ID) })
	return claimed, nil
}

func (t *Table) claim(ctx context.Context, tx *sql.Tx, n int, again bool, lease time.Duration) ([]Row, error) {
	least := int64(math.MinInt64) // a row that was edited by hand has any number
	if again {
		least = 1
	}
	if t.s.claim != "" {
		return scanRows(tx.QueryContext(ctx, t.s.claim, n, least, lease.Milliseconds(), t.process, t.maxBody+1))
	}
	picked, err := scanRows(tx.QueryContext(ctx, t.s.pick, t.maxBody+1, least, n))
	if err != nil || len(picked) == 0 {
		return nil, err
	}
	ids := make([]string, len(picked))
	for i := range picked {
		ids[i] = picked[i].ID
	}
	_, err = t.exec(ctx, tx, t.s.lease, ids, lease.Milliseconds(), t.process)
	return picked, err
}

func scanRows(from *sql.Rows, err error) (all []Row, _ error) {
	if err != nil {
		return nil, err
	}
	defer from.Close()
	for from.Next() {
		var r Row
		if err := from.Scan(&r.ID, &r.Key, &r.Body, &r.Claims); err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, from.Err()
}

// Changes are what has become of claimed rows.
type Changes struct {
	Delivered []string                   // to remove
	Free      []string                   // to be claimed at once
	Later     map[time.Duration][]string // to be claimed after a time
}

// Len returns the number of rows.
func (c *Changes) Len() int {
	n := len(c.Delivered) + len(c.Free)
	for _, ids := range c.Later {
		n += len(ids)
	}
	return n
}

// Write makes the changes in one transaction.
func (t *Table) Write(ctx context.Context, c *Changes) error {
	return t.inTx(ctx, func(tx *sql.Tx) error {
		if _, err := t.exec(ctx, tx, t.s.remove, c.Delivered); err != nil {
			return err
		}
		if _, err := t.exec(ctx, tx, t.s.free, c.Free, t.process); err != nil {
			return err
		}
		for wait, ids := range c.Later {
			if _, err := t.exec(ctx, tx, t.s.later, ids, wait.Milliseconds(), t.process); err != nil {
				return err
			}
		}
		return nil
	})
}

// Extend extends the leases of rows. It reports whether this process has the leases of all of them.
func (t *Table) Extend(ctx context.Context, ids []string, lease time.Duration) (all bool, err error) {
	extended := int64(0)
	err = t.inTx(ctx, func(tx *sql.Tx) error {
		extended, err = t.exec(ctx, tx, t.s.extend, ids, lease.Milliseconds(), t.process)
		return err
	})
	return extended == int64(len(ids)), err
}

// Recover ends leases that end later than after the longest wait: the clock of the database was set.
func (t *Table) Recover(ctx context.Context, longest time.Duration) error {
	return t.inTx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, t.s.recover, longest.Milliseconds())
		return err
	})
}

// Rejection says why a row moves to the rejected events. Code and Message are ASCII.
type Rejection struct {
	ID      string
	Status  int
	Code    string
	Message string
}

// Reject moves rows to the rejected events, in one transaction.
func (t *Table) Reject(ctx context.Context, all []Rejection) error {
	return t.inTx(ctx, func(tx *sql.Tx) error {
		for _, r := range all {
			if err := t.rejectOne(ctx, tx, r); err != nil {
				return err
			}
		}
		return nil
	})
}

// rejectOne first locks the row, because another process may move it at the same time. If the row is gone,
// an event that is rejected already stays as it is.
func (t *Table) rejectOne(ctx context.Context, tx *sql.Tx, r Rejection) error {
	id := []string{r.ID}
	if _, err := t.exec(ctx, tx, t.s.lock, id); err != nil {
		return err
	}
	if _, err := t.exec(ctx, tx, t.s.forget, id); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, t.s.reject, r.Status, r.Code, r.Message, r.ID); err != nil {
		return err
	}
	_, err := t.exec(ctx, tx, t.s.remove, id)
	return err
}

// Clock returns the time of the database.
func (t *Table) Clock(ctx context.Context) (now int64, err error) {
	return now, t.db.QueryRowContext(ctx, t.s.clock).Scan(&now)
}

// HasOlder reports whether there is a row that is not younger than a time of Clock.
func (t *Table) HasOlder(ctx context.Context, than int64) (bool, error) {
	return t.exists(ctx, t.s.older, than)
}

// Lag returns the number of rows, the age of the oldest, and the number of rejected events.
func (t *Table) Lag(ctx context.Context) (n int64, oldest time.Duration, rejected int64, err error) {
	var age int64
	err = t.db.QueryRowContext(ctx, t.s.lag).Scan(&n, &age, &rejected)
	return n, time.Duration(max(0, age)) * time.Millisecond, rejected, err
}

// exec executes a statement about ids, unless there are none, and returns how many rows it has changed.
func (t *Table) exec(ctx context.Context, tx *sql.Tx, query string, ids []string, args ...any) (int64, error) {
	if len(ids) == 0 {
		return 0, nil
	}
	result, err := tx.ExecContext(ctx, query, append([]any{t.dialect.list(ids)}, args...)...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

func (t *Table) inTx(ctx context.Context, f func(*sql.Tx) error) error {
	tx, err := t.db.BeginTx(ctx, &sql.TxOptions{Isolation: t.dialect.isolation})
	if err != nil {
		return err
	}
	if err := f(tx); err != nil {
		_ = tx.Rollback() // err says more
		return err
	}
	return tx.Commit()
}
