package rows

import (
	"database/sql"
	"strings"
)

func newPostgreSQL() *Dialect {
	return &Dialect{
		Name:       "postgresql",
		quote:      `"`,
		isolation:  sql.LevelReadCommitted,
		list:       func(ids []string) string { return strings.Join(ids, ",") },
		qualified:  true,
		start:      "00000000-0000-0000-0000-000000000000",
		inspection: inspectPostgreSQL,
		statements: statements{
			now:    `CAST(extract(epoch FROM statement_timestamp()) * 1000 AS bigint)`,
			insert: `INSERT INTO {table} (id, idempotency_key, body, created_at) VALUES ($1, $2, $3, {now})`,
			peek:   `SELECT 1 FROM {table} WHERE leased_until <= {now} LIMIT 1`,
			claim: `WITH due AS (
				SELECT id FROM {table} WHERE leased_until BETWEEN $2 AND {now}
				ORDER BY leased_until, id LIMIT $1 FOR UPDATE SKIP LOCKED)
			UPDATE {table} AS claimed SET leased_until = {now} + $3, leased_by = $4, claims = {counted}
			FROM due WHERE claimed.id = due.id
			RETURNING claimed.id, claimed.idempotency_key, substr(claimed.body, 1, $5), claimed.claims`,
			extend:  `UPDATE {table} SET leased_until = {now} + $2 WHERE leased_by = $3 AND id = ANY (CAST(string_to_array($1, ',') AS uuid[]))`,
			free:    `UPDATE {table} SET leased_until = 0, leased_by = 0 WHERE leased_by = $2 AND id = ANY (CAST(string_to_array($1, ',') AS uuid[]))`,
			later:   `UPDATE {table} SET leased_until = {now} + $2, leased_by = 0 WHERE leased_by = $3 AND id = ANY (CAST(string_to_array($1, ',') AS uuid[]))`,
			remove:  `DELETE FROM {table} WHERE id = ANY (CAST(string_to_array($1, ',') AS uuid[]))`,
			recover: `UPDATE {table} SET leased_until = {now} WHERE leased_until > {now} + $1`,
			forget:  `DELETE FROM {rejected} WHERE id = ANY (CAST(string_to_array($1, ',') AS uuid[])) AND EXISTS (SELECT 1 FROM {table} AS waiting WHERE waiting.id = {rejected}.id)`,
			lock:    `UPDATE {table} SET claims = claims WHERE id = ANY (CAST(string_to_array($1, ',') AS uuid[]))`,
			reject: `INSERT INTO {rejected} (id, idempotency_key, body, created_at, rejected_at, status, code, message)
			SELECT id, idempotency_key, body, created_at, {now}, CAST($1 AS integer), CAST($2 AS text), CAST($3 AS text) FROM {table} WHERE id = $4`,
			listed:       `SELECT id, idempotency_key, body, rejected_at, status, code, message FROM {rejected} WHERE id >= $1 ORDER BY id LIMIT $2`,
			lockRejected: `UPDATE {rejected} SET status = status WHERE id = ANY (CAST(string_to_array($1, ',') AS uuid[]))`,
			retry: `INSERT INTO {table} (id, idempotency_key, body, created_at)
			SELECT id, idempotency_key, body, {now} FROM {rejected} WHERE id = ANY (CAST(string_to_array($1, ',') AS uuid[]))`,
			purge: `DELETE FROM {rejected} WHERE id = ANY (CAST(string_to_array($1, ',') AS uuid[]))`,
			clock: `SELECT {now}`,
			older: `SELECT 1 FROM {table} WHERE created_at <= $1 LIMIT 1`,
			lag:   `SELECT count(*), coalesce({now} - min(created_at), 0), (SELECT count(*) FROM {rejected}) FROM {table}`,
		},
	}
}
