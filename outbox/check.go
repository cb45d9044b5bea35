package outbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/footfall-dev/footfall/outbox/internal/rows"
)

// SchemaError says how a table differs from what this version of the module needs.
type SchemaError struct {
	Table       string
	Differences []string // such as "no column claims integer"
}

func (e *SchemaError) Error() string {
	return fmt.Sprintf("outbox: table %s: %s: apply the files of outbox/schema", e.Table, strings.Join(e.Differences, "; "))
}

// Check compares the tables with what this version needs, and tries its statements in a transaction that it
// rolls back, so that a missing right is found, too. DB of cfg is not used. The error joins a [*SchemaError]
// for each table that differs, or says which statement the database refuses, or is about cfg.
func Check(ctx context.Context, db *sql.DB, cfg Config) error {
	ctx, cfg.DB = orBackground(ctx), db
	cfg = cfg.withDefaults(nil)
	if err := cfg.check(); err != nil {
		return err
	}
	d := rows.For(cfg.Dialect.String())
	var problems []error
	for _, rejected := range []bool{false, true} {
		name := cfg.Table
		if rejected {
			name = cfg.RejectedTable
		}
		differ, err := rows.Differences(ctx, db, d, cfg.names(), rejected)
		if err != nil {
			return fmt.Errorf("outbox: table %s: %w", name, err)
		}
		if len(differ) > 0 {
			problems = append(problems, &SchemaError{name, differ})
		}
	}
	if err := errors.Join(problems...); err != nil {
		return err
	}
	table := rows.New(rows.Options{DB: db, Dialect: d, Names: cfg.names()})
	if err := table.Try(ctx, tried); err != nil {
		return fmt.Errorf("outbox: the tables cannot be used: %w", err)
	}
	return nil
}

// tried is the id of the row that Check inserts and removes.
const tried = "00000000-0000-7000-8000-000000000000"
