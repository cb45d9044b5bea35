package rows

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// inspection is how the tables of a dialect are read. The queries get the name of a schema, or "", the name
// of a table, and both as a statement has them.
type inspection struct {
	columns string // name, type in lower case, whether it may be NULL, whether it has a default
	indexes string // names of the columns of each index, in order and separated by commas
	whole   bool   // the queries get the third only
	types   map[string]string
}

var (
	inspectPostgreSQL = inspection{
		columns: `SELECT attname, format_type(atttypid, NULL), NOT attnotnull, atthasdef OR attidentity <> '' FROM pg_attribute
			WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped`,
		indexes: `SELECT (SELECT string_agg(attname, ',' ORDER BY position)
				FROM unnest(CAST(indkey AS int2[])) WITH ORDINALITY AS part (number, position)
				JOIN pg_attribute ON attrelid = indrelid AND attnum = number)
			FROM pg_index WHERE indrelid = to_regclass($1) AND indisvalid AND indpred IS NULL AND indexprs IS NULL`,
		whole: true,
		types: map[string]string{"id": "uuid", "text": "text", "body": "bytea", "long": "bigint", "number": "integer"},
	}
	inspectMySQL = inspection{
		columns: `SELECT column_name, lower(data_type), is_nullable = 'YES', column_default IS NOT NULL OR extra <> '' FROM information_schema.columns
			WHERE table_schema = coalesce(nullif(?, ''), database()) AND table_name = ?`,
		indexes: `SELECT group_concat(column_name ORDER BY seq_in_index) FROM information_schema.statistics
			WHERE table_schema = coalesce(nullif(?, ''), database()) AND table_name = ? GROUP BY index_name`,
		types: map[string]string{"id": "char", "text": "text", "key": "varchar", "body": "mediumblob", "long": "bigint", "number": "int"},
	}
	inspectSQLite = inspection{
		columns: `SELECT name, lower(type), NOT "notnull", dflt_value IS NOT NULL FROM pragma_table_info(?2) WHERE ?1 = ''`,
		indexes: `SELECT (SELECT group_concat(name) FROM (SELECT name FROM pragma_index_info(list.name) ORDER BY seqno))
			FROM pragma_index_list(?2) AS list WHERE ?1 = '' AND NOT partial`,
		types: map[string]string{"id": "text", "text": "text", "body": "blob", "long": "integer", "number": "integer"},
	}
)

// column is a column of version 1. Its kind is a key of inspection.types.
type column struct{ name, kind string }

var (
	shared      = []column{{"id", "id"}, {"idempotency_key", "key"}, {"body", "body"}, {"created_at", "long"}}
	ofTable     = slices.Concat(shared, []column{{"leased_until", "long"}, {"leased_by", "long"}, {"claims", "number"}})
	ofRejected  = slices.Concat(shared, []column{{"rejected_at", "long"}, {"status", "number"}, {"code", "text"}, {"message", "text"}})
	withDefault = []string{"leased_until", "leased_by", "claims"}
)

// found is a column of a database.
type found struct {
	kind               string
	nullable, default_ bool
}

// Differences compares a table with what this version needs, and says what differs. rejected says which of the
// two it is.
func Differences(ctx context.Context, db *sql.DB, d *Dialect, n Names, rejected bool) ([]string, error) {
	name, want, indexes := n.Table, ofTable, []string{"id", "leased_until,id"}
	if rejected {
		name, want, indexes = n.Rejected, ofRejected, []string{"id"}
	}
	columns, err := d.columnsOf(ctx, db, name)
	switch {
	case err != nil:
		return nil, err
	case len(columns) == 0:
		return []string{"there is no such table, or the user may not see it"}, nil
	}
	differ := d.compare(columns, want)
	have, err := d.indexesOf(ctx, db, name)
	for _, index := range indexes {
		if !slices.Contains(have, index) {
			differ = append(differ, fmt.Sprintf("no index of (%s)", strings.ReplaceAll(index, ",", ", ")))
		}
	}
	return differ, err
}

func (d *Dialect) compare(columns map[string]found, want []column) (differ []string) {
	for _, c := range want {
		is, ok := columns[c.name]
		kind := cmp.Or(d.types[c.kind], d.types["text"])
		switch {
		case !ok:
			differ = append(differ, fmt.Sprintf("no column %s %s", c.name, kind))
		case is.kind != kind:
			differ = append(differ, fmt.Sprintf("column %s is %s, not %s", c.name, is.kind, kind))
		case !is.default_ && slices.Contains(withDefault, c.name):
			differ = append(differ, fmt.Sprintf("column %s has no default", c.name))
		}
		delete(columns, c.name)
	}
	for _, name := range slices.Sorted(maps.Keys(columns)) {
		if c := columns[name]; !c.nullable && !c.default_ {
			differ = append(differ, fmt.Sprintf("column %s, which the outbox does not know, has neither NULL nor a default", name))
		}
	}
	return differ
}

// arguments returns the parameters of the queries.
func (d *Dialect) arguments(name string) []any {
	if d.whole {
		return []any{d.Quoted(name)}
	}
	schema, table, qualified := strings.Cut(name, ".")
	if !qualified {
		schema, table = "", name
	}
	return []any{schema, table}
}

func (d *Dialect) columnsOf(ctx context.Context, db *sql.DB, name string) (map[string]found, error) {
	from, err := db.QueryContext(ctx, d.columns, d.arguments(name)...)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	all := make(map[string]found)
	for from.Next() {
		var column string
		var c found
		if err := from.Scan(&column, &c.kind, &c.nullable, &c.default_); err != nil {
			return nil, err
		}
		all[column] = c
	}
	return all, from.Err()
}

func (d *Dialect) indexesOf(ctx context.Context, db *sql.DB, name string) (all []string, err error) {
	from, err := db.QueryContext(ctx, d.indexes, d.arguments(name)...)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	for from.Next() {
		var columns sql.NullString
		if err := from.Scan(&columns); err != nil {
			return nil, err
		}
		all = append(all, columns.String)
	}
	return all, from.Err()
}

// errUndo ends the transaction of Try.
var errUndo = errors.New("undo")

// Try inserts a row, claims none, moves the row to the rejected events and back, and removes it, in a
// transaction that it rolls back.
func (t *Table) Try(ctx context.Context, id string) error {
	err := t.inTx(ctx, func(tx *sql.Tx) error {
		if err := t.Insert(ctx, tx, id, "", []byte("{}")); err != nil {
			return err
		}
		if _, err := t.claim(ctx, tx, 0, false, 0); err != nil {
			return err
		}
		if _, err := t.exec(ctx, tx, t.s.extend, []string{id}, 0, t.process); err != nil {
			return err
		}
		if err := t.rejectOne(ctx, tx, Rejection{ID: id}); err != nil {
			return err
		}
		if _, err := t.exec(ctx, tx, t.s.retry, []string{id}); err != nil {
			return err
		}
		if _, err := t.exec(ctx, tx, t.s.purge, []string{id}); err != nil {
			return err
		}
		return errUndo
	})
	if err == errUndo {
		return nil
	}
	return err
}
