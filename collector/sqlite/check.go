package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/footfall-dev/footfall/collector/store"
)

// Check reads all of a store's file, or of a backup, and returns an error that names the file and
// each kind of damage found in it, or nil. It changes nothing, and makes no file beside the file
// of a stopped store. The store may be open, also in another process: Check then reads a snapshot, and
// the log grows until it returns. A million events take some seconds.
//
// Check verifies the structure of the file, every event, every text, and the data that is
// precomputed for reports. It cannot find a text or a number that was replaced by another. With
// siteKinds, the kinds of records whose ID is a site, it also reports events of sites without such
// a record. The error matches [ErrPrecomputed] if all damage found is of a kind that a store
// repairs by itself.
func Check(ctx context.Context, file string, siteKinds ...string) error {
	return snapshot(ctx, file, func(c *checker, version int) error {
		c.siteKinds = siteKinds
		return c.all(version)
	})
}

// RecordCheck verifies records. It gets the records of a kind from read.
type RecordCheck func(read func(kind string) ([]store.Record, error)) error

// CheckRecords checks the records of a store's file, or of a backup, like [Check].
func CheckRecords(ctx context.Context, file string, records RecordCheck) error {
	return snapshot(ctx, file, func(c *checker, _ int) error { return checkRecords(ctx, c.tx, records) })
}

func checkRecords(ctx context.Context, tx *sql.Tx, records RecordCheck) error {
	return records(func(kind string) ([]store.Record, error) { return recordsOf(ctx, tx, kind) })
}

// snapshot calls f with a snapshot of a file.
func snapshot(ctx context.Context, file string, f func(c *checker, version int) error) error {
	file = resolve(file)
	stopped := !exists(file + "-wal")
	err := check(ctx, file, stopped, f)
	if stopped && exists(file+"-wal") { // a store was opened meanwhile
		err = check(ctx, file, false, f)
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return &fileError{file, err}
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// check reads a file. If the store is stopped, SQLite need not make files beside it.
func check(ctx context.Context, file string, stopped bool, f func(c *checker, version int) error) error {
	if _, err := os.Stat(file); err != nil {
		return err
	}
	foreign, err := isForeign(ctx, file)
	if err != nil {
		return err
	}
	if foreign && hasLog(file) {
		return errForeignLog
	}
	source := dsn(file) + "&mode=ro&_pragma=query_only(1)"
	if stopped {
		source += "&immutable=1"
	}
	return snapshotOf(ctx, source, func(tx *sql.Tx, version int) error {
		return f(&checker{reading: &reading{ctx: ctx, tx: tx}}, version)
	})
}

// snapshotOf calls f with a snapshot of a file that has a store.
func snapshotOf(ctx context.Context, source string, f func(tx *sql.Tx, version int) error) (err error) {
	db, err := sql.Open("sqlite", source)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	version, err := inspect(ctx, db)
	if err != nil {
		return err
	}
	if version == 0 {
		return errEmpty
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // nothing to commit
	return f(tx, version)
}

// errEmpty is returned for a file without a store.
var errEmpty = errors.New("is empty")

// all joins the first damage of each kind.
func (c *checker) all(version int) error {
	grave := c.grave(version)
	light := errors.Join(c.light...)
	if grave == nil || light == nil {
		return cmp.Or(grave, light)
	}
	return errors.Join(grave, errors.New(light.Error())) // does not match ErrPrecomputed
}

// grave joins the first damage of each kind that a store does not repair. It fills c.light.
func (c *checker) grave(version int) error {
	problems := []error{integrity(c.ctx, c.tx), c.references(), c.counter()}
	if err := c.readTexts(); err != nil {
		return errors.Join(append(problems, fmt.Errorf("texts: %w", err))...)
	}
	problems = append(problems, c.events(), c.lost(), c.unnoted(version))
	if version == len(migrations) { // other versions have other parts, which the migration replaces
		problems = append(problems, c.segmentsOfAll(), c.rollupsOfAll())
	}
	return errors.Join(problems...)
}

// integrity has SQLite read all pages and compare the indexes with the tables.
func integrity(ctx context.Context, tx *sql.Tx) error {
	var found string
	if err := tx.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&found); err != nil {
		return err
	}
	if found != "ok" {
		return fmt.Errorf("is damaged: %s", strings.ReplaceAll(found, "\n", ": "))
	}
	return nil
}

// references finds parts of segments that do not exist.
func (c *checker) references() error {
	var found int
	err := c.tx.QueryRowContext(c.ctx, "SELECT count(*) FROM pragma_foreign_key_check").Scan(&found)
	if err == nil && found > 0 {
		err = fmt.Errorf("is damaged: %d rows belong to rows that are missing", found)
	}
	return err
}

// errNoCounter is returned if the store cannot number further events.
var errNoCounter = errors.New("is damaged: the counter of events is missing, or behind them")

func (c *checker) counter() error {
	var found bool
	err := c.tx.QueryRowContext(c.ctx, "SELECT EXISTS (SELECT * FROM counter WHERE name = 'seq' AND value > (SELECT coalesce(max(seq), 0) FROM event))").Scan(&found)
	if err == nil && !found {
		err = errNoCounter
	}
	return err
}

// unnoted finds texts that no event uses and no sweep removes.
func (c *checker) unnoted(version int) error {
	searched, err := c.searched(version)
	if err != nil || !searched {
		return err // the service searches for them when it starts
	}
	var id, found int64
	err = eachRow(c.ctx, c.tx, "SELECT id FROM text WHERE id NOT IN (SELECT id FROM unswept)", []any{&id}, func() {
		if !c.used.has(id) {
			found++
		}
	})
	if err == nil && found > 0 {
		err = fmt.Errorf("is damaged: it has %d texts that no event uses and that would never be removed", found)
	}
	return err
}

// searched reports whether all texts that no event uses are in the table unswept.
func (c *checker) searched(version int) (searched bool, err error) {
	if version < versionWithSweep {
		return false, nil
	}
	err = c.tx.QueryRowContext(c.ctx, "SELECT searched FROM sweep").Scan(&searched)
	return searched, err
}

// Unswept returns how many texts of removed events, such as paths, a store's file still has. A store
// that is open removes them. Unswept reads a file that was not opened since an earlier version wrote
// it like [Check], and others in less time.
func Unswept(ctx context.Context, file string) (texts int64, err error) {
	err = snapshot(ctx, file, func(c *checker, version int) error {
		searched, err := c.searched(version)
		if err != nil {
			return err
		}
		if searched {
			return c.tx.QueryRowContext(c.ctx, "SELECT count(*) FROM unswept").Scan(&texts)
		}
		if err := cmp.Or(c.readTexts(), c.events()); err != nil {
			return err
		}
		for _, id := range c.texts.after(0, c.texts.count) {
			if !c.used.has(id) {
				texts++
			}
		}
		return nil
	})
	return texts, err
}

// lost finds sites that have events, but no record of a kind in c.siteKinds.
func (c *checker) lost() error {
	if len(c.siteKinds) == 0 {
		return nil
	}
	var id string
	var recorded []string
	for _, kind := range c.siteKinds {
		err := eachRow(c.ctx, c.tx, "SELECT id FROM record WHERE kind = ?", []any{&id}, func() { recorded = append(recorded, id) }, kind)
		if err != nil {
			return err
		}
	}
	sites, err := c.sites()
	problems := []error{err}
	for _, site := range sites {
		err := eachRow(c.ctx, c.tx, "SELECT value FROM text WHERE id = ?", []any{&id}, func() {
			if !slices.Contains(recorded, id) {
				problems = append(problems, fmt.Errorf("has events of the site %s, which does not exist: add it again on the dashboard's page of sites", id))
			}
		}, site)
		problems = append(problems, err)
	}
	return errors.Join(problems...)
}
