package rows

// newSQLite returns the dialect of SQLite. It has one writer at a time, which is why no rows are skipped.
func newSQLite() *Dialect {
	return &Dialect{
		Name:       "sqlite",
		quote:      `"`,
		list:       asJSON,
		inspection: inspectSQLite,
		statements: statements{
			now:    `CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)`,
			insert: `INSERT INTO {table} (id, idempotency_key, body, created_at) VALUES (?, ?, ?, {now})`,
			peek:   `SELECT 1 FROM {table} WHERE leased_until <= {now} LIMIT 1`,
			claim: `UPDATE {table} SET leased_until = {now} + ?3, leased_by = ?4, claims = {counted}
			WHERE id IN (SELECT id FROM {table} WHERE leased_until BETWEEN ?2 AND {now} ORDER BY leased_until, id LIMIT ?1)
			RETURNING id, idempotency_key, substr(body, 1, ?5), claims`,
			extend:  `UPDATE {table} SET leased_until = {now} + ?2 WHERE leased_by = ?3 AND id IN (SELECT value FROM json_each(?1))`,
			free:    `UPDATE {table} SET leased_until = 0, leased_by = 0 WHERE leased_by = ?2 AND id IN (SELECT value FROM json_each(?1))`,
			later:   `UPDATE {table} SET leased_until = {now} + ?2, leased_by = 0 WHERE leased_by = ?3 AND id IN (SELECT value FROM json_each(?1))`,
			remove:  `DELETE FROM {table} WHERE id IN (SELECT value FROM json_each(?1))`,
			recover: `UPDATE {table} SET leased_until = {now} WHERE leased_until > {now} + ?`,
			forget:  `DELETE FROM {rejected} WHERE id IN (SELECT value FROM json_each(?1)) AND EXISTS (SELECT 1 FROM {table} AS waiting WHERE waiting.id = {rejected}.id)`,
			lock:    `UPDATE {table} SET claims = claims WHERE id IN (SELECT value FROM json_each(?1))`,
			reject: `INSERT INTO {rejected} (id, idempotency_key, body, created_at, rejected_at, status, code, message)
			SELECT id, idempotency_key, body, created_at, {now}, ?, ?, ? FROM {table} WHERE id = ?`,
			listed:       `SELECT id, idempotency_key, body, rejected_at, status, code, message FROM {rejected} WHERE id >= ? ORDER BY id LIMIT ?`,
			lockRejected: `UPDATE {rejected} SET status = status WHERE id IN (SELECT value FROM json_each(?1))`,
			retry: `INSERT INTO {table} (id, idempotency_key, body, created_at)
			SELECT id, idempotency_key, body, {now} FROM {rejected} WHERE id IN (SELECT value FROM json_each(?1))`,
			purge: `DELETE FROM {rejected} WHERE id IN (SELECT value FROM json_each(?1))`,
			clock: `SELECT {now}`,
			older: `SELECT 1 FROM {table} WHERE created_at <= ? LIMIT 1`,
			lag:   `SELECT count(*), coalesce({now} - min(created_at), 0), (SELECT count(*) FROM {rejected}) FROM {table}`,
		},
	}
}
