package test

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "github.com/lib/pq"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
	"github.com/footfall-dev/footfall/outbox"
)

// patience bounds each wait, also on a busy machine.
const patience = time.Minute

// TestMain is also the main function of the programs that tests stop and kill.
func TestMain(m *testing.M) {
	if program := os.Getenv(programVar); program != "" {
		runProgram(program)
		return
	}
	flag.Parse()
	_ = flag.Set("test.parallel", "4")              // tests wait for servers more than they compute
	_ = mysql.SetLogger(log.New(io.Discard, "", 0)) // tests kill servers
	code := m.Run()
	stopShared()
	os.Exit(code)
}

// database is a database of a test.
type database struct {
	*sql.DB
	dialect outbox.Dialect
	driver  string
	dsn     string
}

// eachDatabase runs a test with each driver, on a database without the tables of an outbox.
func eachDatabase(t *testing.T, test func(*testing.T, *database)) {
	t.Helper()
	for _, one := range []struct {
		name string
		open func(testing.TB) *database
	}{{"SQLite", openSQLite}, {"PostgreSQL with pgx", openPGX}, {"PostgreSQL with pq", openPQ}, {"MariaDB", openMySQL}} {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			test(t, one.open(t))
		})
	}
}

// eachDialect is eachDatabase with one driver for each dialect.
func eachDialect(t *testing.T, test func(*testing.T, *database)) {
	t.Helper()
	for _, one := range []struct {
		name string
		open func(testing.TB) *database
	}{{"SQLite", openSQLite}, {"PostgreSQL", openPGX}, {"MariaDB", openMySQL}} {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			test(t, one.open(t))
		})
	}
}

func open(t testing.TB, dialect outbox.Dialect, driver, dsn string) *database {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return &database{db, dialect, driver, dsn}
}

func openSQLite(t testing.TB) *database {
	t.Helper()
	return open(t, outbox.SQLite, "sqlite", sqliteDSN(filepath.Join(t.TempDir(), "shop.db")))
}

func sqliteDSN(file string) string {
	return "file:" + file + "?_pragma=busy_timeout(5000)&_pragma=journal_mode(wal)&_txlock=immediate"
}

var databases atomic.Int64

// newName returns a new name for a database.
func newName() string { return fmt.Sprint("shop", databases.Add(1)) }

func openPGX(t testing.TB) *database {
	t.Helper()
	return open(t, outbox.PostgreSQL, "pgx", sharedPostgreSQL(t).create(t))
}

func openPQ(t testing.TB) *database {
	t.Helper()
	return open(t, outbox.PostgreSQL, "postgres", sharedPostgreSQL(t).create(t))
}

func openMySQL(t testing.TB) *database {
	t.Helper()
	return open(t, outbox.MySQL, "mysql", sharedMariaDB(t).create(t))
}

// config returns the Config of a Box with short times.
func (d *database) config() outbox.Config {
	return outbox.Config{DB: d.DB, Dialect: d.dialect, Poll: 50 * time.Millisecond, Lease: 2 * time.Second}
}

// migrate creates the tables of an outbox, and one for orders.
func (d *database) migrate(t testing.TB) {
	t.Helper()
	schema, err := outbox.Schema(d.dialect, "", "")
	require.NoError(t, err)
	d.exec(t, schema)
	d.exec(t, "CREATE TABLE orders (id VARCHAR(100) PRIMARY KEY)")
}

func (d *database) exec(t testing.TB, query string, args ...any) {
	t.Helper()
	_, err := d.ExecContext(context.Background(), query, args...)
	require.NoError(t, err, query)
}

// count returns the first column of the first row.
func (d *database) count(t testing.TB, query string, args ...any) (n int) {
	t.Helper()
	require.NoError(t, d.QueryRowContext(context.Background(), query, args...).Scan(&n), query)
	return n
}

// rows returns how many rows the outbox has.
func (d *database) rows(t testing.TB) int {
	t.Helper()
	return d.count(t, "SELECT count(*) FROM footfall_outbox")
}

// rejected returns how many rejected events there are.
func (d *database) rejected(t testing.TB) int {
	t.Helper()
	return d.count(t, "SELECT count(*) FROM footfall_outbox_rejected")
}

// quick returns a Config for api with short intervals.
func quick(api *footfalltest.API, log *footfalltest.Log) footfall.Config {
	cfg := api.Config()
	cfg.Logger = log.Logger()
	cfg.BackoffMin, cfg.BackoffMax = 10*time.Millisecond, 200*time.Millisecond
	cfg.ProbeMin, cfg.ProbeMax = 10*time.Millisecond, 200*time.Millisecond
	cfg.OnRejected = func(*footfall.RejectedError) {}
	return cfg
}

// box opens a Box that closes with the test.
func box(t testing.TB, tracker footfall.Config, cfg outbox.Config) *outbox.Box {
	t.Helper()
	b, err := outbox.Open(tracker, cfg)
	require.NoError(t, err)
	t.Cleanup(func() { _ = closeWithin(b, time.Second) })
	return b
}

func closeWithin(b *outbox.Box, d time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	return b.Close(ctx)
}

func flush(t testing.TB, b *outbox.Box) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	require.NoError(t, b.Flush(ctx))
}

// order commits an order and its event.
func (d *database) order(t testing.TB, b *outbox.Box, id string) {
	t.Helper()
	require.NoError(t, d.tryOrder(t.Context(), b, id, sql.LevelDefault))
}

func (d *database) tryOrder(ctx context.Context, b *outbox.Box, id string, level sql.IsolationLevel) error {
	tx, err := d.BeginTx(ctx, &sql.TxOptions{Isolation: level})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("INSERT INTO orders VALUES ('%s')", id)); err != nil {
		return err
	}
	if err := b.Track(ctx, tx, "order_paid", footfall.P("order", id)); err != nil {
		return err
	}
	return tx.Commit()
}

// orders returns the orders whose events have arrived, each once.
func orders(api *footfalltest.API) (ids []string) {
	for _, e := range api.Events() {
		ids = append(ids, fmt.Sprint(e.Props["order"]))
	}
	return ids
}

// arrive waits until n events have arrived.
func arrive(t testing.TB, api *footfalltest.API, n int) {
	t.Helper()
	require.Eventually(t, func() bool { return len(api.Events()) >= n }, patience, 2*time.Millisecond, "%d of %d arrived", len(api.Events()), n)
}

// empty waits until the outbox has no rows. Meanwhile the database may be away.
func (d *database) empty(t testing.TB) {
	t.Helper()
	require.Eventually(t, func() bool {
		n := -1
		return d.QueryRow("SELECT count(*) FROM footfall_outbox").Scan(&n) == nil && n == 0
	}, patience, 10*time.Millisecond)
}
