package outbox

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"log/slog"
	"time"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/internal/safelog"
	"github.com/footfall-dev/footfall/outbox/internal/rows"
)

// Dialect is a kind of database.
type Dialect uint8

const (
	// PostgreSQL is PostgreSQL 9.6 and later.
	PostgreSQL Dialect = iota + 1

	// MySQL is MySQL 8.0, MariaDB 10.6, and later.
	MySQL

	// SQLite is SQLite 3.38 and later.
	SQLite
)

// String returns "postgresql", "mysql" or "sqlite", which is also in the name of the file with the schema.
func (d Dialect) String() string {
	switch d {
	case PostgreSQL:
		return "postgresql"
	case MySQL:
		return "mysql"
	case SQLite:
		return "sqlite"
	}
	return "no dialect"
}

// Config configures a [Box]. The zero value of a field means its default.
type Config struct {
	// DB is the database of the application. A Box uses one connection of it at a time, and does not close it.
	// Required.
	DB *sql.DB

	// Dialect is the kind of DB. Required.
	Dialect Dialect

	// Table is the name of the table, such as "events" or "app.events": lower-case letters, digits and
	// underscores, at most 59, and a schema or database before a point, which SQLite does not have. Defaults to
	// "footfall_outbox".
	Table string

	// RejectedTable is the name of the table of rejected events. Defaults to Table with "_rejected" appended.
	RejectedTable string

	// WriteOnly leaves delivery to other processes. BaseURL and APIKey of the footfall.Config are not required
	// then. Defaults to false.
	WriteOnly bool

	// Next delivers the events. No tracker and no other Box may use it. Defaults to
	// footfall.NewHTTPTransport.
	Next footfall.Transport

	// Poll is how often a Box without events looks for some. A look is one SELECT. [Box.Wake] makes it look
	// at once. Defaults to 1s.
	Poll time.Duration

	// Lease is the time after which other processes may claim the events of a process that was killed. A Box
	// extends it for the events that it has. At least 1s. Defaults to 30s.
	Lease time.Duration

	// MaxHeld bounds the events in the memory of a Box. Defaults to 1,024.
	MaxHeld int

	// Timeout bounds each transaction of a Box. Defaults to 5s.
	Timeout time.Duration

	// Logger receives a line when the tables cannot be used and when they can be used again. Defaults to the
	// Logger of the footfall.Config, and to slog.Default().
	Logger *slog.Logger
}

const (
	defaultTable   = "footfall_outbox"
	rejectedSuffix = "_rejected"
	leastLease     = time.Second
)

func (c Config) withDefaults(log *slog.Logger) Config {
	c.Table = cmp.Or(c.Table, defaultTable)
	c.RejectedTable = cmp.Or(c.RejectedTable, c.Table+rejectedSuffix)
	c.Poll = cmp.Or(c.Poll, time.Second)
	c.Lease = cmp.Or(c.Lease, 30*time.Second)
	c.MaxHeld = cmp.Or(c.MaxHeld, 1024)
	c.Timeout = cmp.Or(c.Timeout, 5*time.Second)
	c.Logger = safelog.New(cmp.Or(c.Logger, log, slog.Default()))
	return c
}

func (c *Config) names() rows.Names { return rows.Names{Table: c.Table, Rejected: c.RejectedTable} }

// problems are the problems of a Config.
type problems []error

func (p *problems) report(wrong bool, field, reason string) {
	if wrong {
		*p = append(*p, &footfall.FieldError{Field: "outbox.Config." + field, Reason: reason})
	}
}

// check reports every problem.
func (c *Config) check() error {
	var p problems
	p.report(c.DB == nil, "DB", "nil: set it to the database of the application")
	p.report(c.Poll < 0, "Poll", "negative")
	p.report(c.Lease < leastLease, "Lease", "less than 1s")
	p.report(c.MaxHeld < 0, "MaxHeld", "negative")
	p.report(c.Timeout < 0, "Timeout", "negative")
	return errors.Join(errors.Join(p...), c.checkNames())
}

func (c *Config) checkNames() error {
	var p problems
	d := rows.For(c.Dialect.String())
	if d == nil {
		p.report(true, "Dialect", "not one of PostgreSQL, MySQL and SQLite")
		return errors.Join(p...)
	}
	table, rejected := d.CheckName(c.Table), d.CheckName(c.RejectedTable)
	p.report(table != "", "Table", table)
	p.report(table == "" && rejected != "", "RejectedTable", rejected)
	p.report(c.Table == c.RejectedTable, "RejectedTable", "the same as Table")
	return errors.Join(p...)
}

// Execer is a transaction: *sql.Tx, *sql.Conn, *sqlx.Tx, and what other libraries have. A *sql.DB is a
// transaction of one statement.
type Execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// ExecFunc is an [Execer] for transactions with another method, such as those of pgx:
//
//	tx, err := pool.Begin(ctx)
//	…
//	err = box.Track(ctx, outbox.ExecFunc(func(ctx context.Context, query string, args ...any) error {
//		_, err := tx.Exec(ctx, query, args...)
//		return err
//	}), "order_paid")
//
// The query has the placeholders of the dialect. The args are two strings and a []byte.
type ExecFunc func(ctx context.Context, query string, args ...any) error

// ExecContext implements [Execer].
func (f ExecFunc) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return driver.RowsAffected(1), f(ctx, query, args...)
}
