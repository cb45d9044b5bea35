package rows

import (
	"database/sql"
	"strings"
)

// newMySQL returns the dialect of MySQL and MariaDB. Their UPDATE returns no rows. With a higher isolation
// than READ COMMITTED they would lock the gap into which applications insert.
//
// An UPDATE or DELETE with "id IN" reads a small table as a whole, with any FORCE INDEX, and waits for rows that
// are not committed. So {waiting} and {moved} are a list of ids, which is the first parameter, joined with the
// row of each id.
func newMySQL() *Dialect {
	const listed = `JSON_TABLE(?, '$[*]' COLUMNS (id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin PATH '$')) AS listed`
	join := strings.NewReplacer(
		"{waiting}", listed+` STRAIGHT_JOIN {table} AS waiting FORCE INDEX (PRIMARY) ON waiting.id = listed.id`,
		"{moved}", listed+` STRAIGHT_JOIN {rejected} AS moved FORCE INDEX (PRIMARY) ON moved.id = listed.id`,
	)
	d := &Dialect{
		Name:       "mysql",
		quote:      "`",
		isolation:  sql.LevelReadCommitted,
		list:       asJSON,
		qualified:  true,
		inspection: inspectMySQL,
		statements: statements{
			now:    `(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000)`,
			insert: `INSERT INTO {table} (id, idempotency_key, body, created_at) VALUES (?, ?, ?, {now})`,
			peek:   `SELECT 1 FROM {table} WHERE leased_until <= {now} LIMIT 1`,
			pick: `SELECT id, idempotency_key, substr(body, 1, ?), {counted} FROM {table} FORCE INDEX ({index})
			WHERE leased_until BETWEEN ? AND {now} ORDER BY leased_until, id LIMIT ? FOR UPDATE SKIP LOCKED`,
			lease:   `UPDATE {waiting} SET leased_until = {now} + ?, leased_by = ?, claims = {counted}`,
			extend:  `UPDATE {waiting} SET leased_until = {now} + ? WHERE leased_by = ?`,
			free:    `UPDATE {waiting} SET leased_until = 0, leased_by = 0 WHERE leased_by = ?`,
			later:   `UPDATE {waiting} SET leased_until = {now} + ?, leased_by = 0 WHERE leased_by = ?`,
			remove:  `DELETE waiting FROM {waiting}`,
			recover: `UPDATE {table} FORCE INDEX ({index}) SET leased_until = {now} WHERE leased_until > {now} + ?`,
			lock:    `UPDATE {waiting} SET waiting.claims = waiting.claims`,
			forget:  `DELETE moved FROM {moved} STRAIGHT_JOIN {table} AS waiting FORCE INDEX (PRIMARY) ON waiting.id = listed.id`,
			reject: `INSERT INTO {rejected} (id, idempotency_key, body, created_at, rejected_at, status, code, message)
			SELECT id, idempotency_key, body, created_at, {now}, ?, ?, ? FROM {table} WHERE id = ?`,
			lockRejected: `UPDATE {moved} SET moved.status = moved.status`,
			retry: `INSERT INTO {table} (id, idempotency_key, body, created_at)
			SELECT moved.id, moved.idempotency_key, moved.body, {now} FROM {moved}`,
			purge:  `DELETE moved FROM {moved}`,
			listed: `SELECT id, idempotency_key, body, rejected_at, status, code, message FROM {rejected} WHERE id >= ? ORDER BY id LIMIT ?`,
			clock:  `SELECT {now}`,
			older:  `SELECT 1 FROM {table} WHERE created_at <= ? LIMIT 1`,
			lag:    `SELECT count(*), coalesce({now} - min(created_at), 0), (SELECT count(*) FROM {rejected}) FROM {table}`,
		},
	}
	for _, one := range d.statements.all() {
		*one = join.Replace(*one)
	}
	return d
}
