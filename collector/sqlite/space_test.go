package sqlite_test

import (
	"database/sql"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/sqlite"
)

// upgradeTakes returns how much space the upgrade of a file needs, and how much it takes: the log, and
// what the file grows by when the log is copied to it.
func upgradeTakes(t *testing.T, file string, version int) (needs, takes int64) {
	t.Helper()
	needs, err := sqlite.SpaceFor(t.Context(), file, version)
	require.NoError(t, err)
	db, err := sql.Open("sqlite", file)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	_, err = db.ExecContext(t.Context(), "PRAGMA journal_mode = WAL; SELECT count(*) FROM text") // this connection keeps the log
	require.NoError(t, err)
	before := sizeOf(t, file)
	require.NoError(t, sqlite.Migrate(t.Context(), file))
	log := sizeOf(t, file+"-wal")
	_, err = db.ExecContext(t.Context(), "PRAGMA wal_checkpoint(TRUNCATE)")
	require.NoError(t, err)
	return needs, int64(log + sizeOf(t, file) - before)
}

func TestAnUpgradeTakesNoMoreSpaceThanItAsksFor(t *testing.T) {
	t.Parallel()
	for version := 1; version < sqlite.Version; version++ {
		needs, takes := upgradeTakes(t, goldenFile(t, version), version)
		assert.LessOrEqual(t, takes, needs, "version %d", version)
		if version > 1 && version < sqlite.Version-1 {
			continue
		}
		file := goldenFile(t, version)
		run(t, file, manyBlocks)
		needsMore, takesMore := upgradeTakes(t, file, version)
		assert.LessOrEqual(t, takesMore-takes, needsMore-needs, "a row for each block of IDs, version %d", version)
		assert.Greater(t, takesMore-takes, int64(500_000), "version %d", version)
	}
}

// manyBlocks adds texts whose IDs are in nearly all blocks.
const manyBlocks = "INSERT INTO text WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 61000) SELECT i << 16, 'text ' || i FROM n"
