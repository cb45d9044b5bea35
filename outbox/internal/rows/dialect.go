// Package rows reads and writes the tables of an outbox.
package rows

import (
	"database/sql"
	"encoding/json"
	"strings"
)

// Dialect is how a kind of database differs from the others.
type Dialect struct {
	Name string

	quote     string                    // around names
	isolation sql.IsolationLevel        // of the outbox's own transactions
	list      func(ids []string) string // the parameter for ids
	qualified bool                      // a name may have a schema
	start     string                    // an id before all others
	statements
	inspection
}

// statements are the statements of a dialect, with their parameters. {table}, {rejected} and {index} are names,
// and {now} is the time of the database in milliseconds.
type statements struct {
	now string // {now}

	insert string // id, idempotency_key, body
	peek   string // whether a row may be claimed

	// claim leases rows and returns them: number, least leased_until, time of the lease, process, largest
	// body. A dialect whose UPDATE returns no rows has pick in its place, with the largest body, the least
	// leased_until and the number, and then lease, with the ids, the time of the lease and the process.
	claim, pick, lease string

	extend  string // ids, time of the lease, process
	free    string // ids, process
	later   string // ids, wait, process
	remove  string // ids
	recover string // longest wait: leases that end later end now

	lock   string // ids: locks rows
	forget string // ids: removes rejected events whose rows are in the table, too
	reject string // status, code, message, id: copies a row to the rejected events

	listed       string // first id, number: rejected events
	lockRejected string // ids
	retry        string // ids: copies rejected events to the table
	purge        string // ids

	clock string // {now}
	older string // whether there is a row that is not younger than a time of clock
	lag   string // rows, age of the oldest, rejected events
}

// For returns the dialect with a name: "postgresql", "mysql" or "sqlite", or nil.
func For(name string) *Dialect {
	for _, d := range []*Dialect{newPostgreSQL(), newMySQL(), newSQLite()} {
		if d.Name == name {
			return d
		}
	}
	return nil
}

// asJSON returns a list of ids as a JSON array.
func asJSON(ids []string) string {
	text, _ := json.Marshal(ids) // strings have no errors
	return string(text)
}

// Names are the names of the tables.
type Names struct{ Table, Rejected string }

// Index is the name of the table's index. It has no schema.
func (n Names) Index() string { return n.Table[strings.LastIndexByte(n.Table, '.')+1:] + "_due" }

// Quoted returns a name of a table, or of a schema and a table, for a statement.
func (d *Dialect) Quoted(name string) string {
	return d.quote + strings.ReplaceAll(name, ".", d.quote+"."+d.quote) + d.quote
}

// longestName is the longest name of PostgreSQL, whose index has a name, too.
const longestName = 63 - len("_due")

// CheckName returns what is wrong with the name of a table, or "".
func (d *Dialect) CheckName(name string) (reason string) {
	schema, table, qualified := strings.Cut(name, ".")
	switch {
	case !qualified:
		table = schema
	case !d.qualified:
		return "a schema, which SQLite has not: use a name without a point"
	case !isName(schema):
		return wrongName
	}
	if !isName(table) {
		return wrongName
	}
	return ""
}

const wrongName = "not a name of at most 59 lower-case letters, digits and underscores, with or without a schema before a point"

func isName(s string) bool {
	for i := range len(s) {
		letter := s[i] >= 'a' && s[i] <= 'z' || s[i] == '_'
		if digit := s[i] >= '0' && s[i] <= '9'; !letter && (!digit || i == 0) {
			return false
		}
	}
	return s != "" && len(s) <= longestName
}

// counted is one more claim. A row that was edited by hand has any number, which must not overflow: the statement would
// fail, and with it the claims of all rows.
const counted = `CASE WHEN claims BETWEEN 0 AND 1000000 THEN claims + 1 ELSE 1 END`

// with returns a statement with names and the time of the database.
func (d *Dialect) with(n Names) func(statement string) string {
	return strings.NewReplacer("{table}", d.Quoted(n.Table), "{rejected}", d.Quoted(n.Rejected), "{index}", d.quote+n.Index()+d.quote, "{now}", d.now, "{counted}", counted).Replace
}
