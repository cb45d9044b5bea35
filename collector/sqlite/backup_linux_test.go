package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/internal/smalldisk"
	"github.com/footfall-dev/footfall/collector/sqlite"
	"github.com/footfall-dev/footfall/collector/store"
)

func TestABackupToAFullDiskNamesTheFileThatHasNoSpace(t *testing.T) {
	t.Parallel()
	smalldisk.Run(t, "64k", testFullDisk)
}

func testFullDisk(t *testing.T, disk string) {
	to := filepath.Join(disk, "backup.db")
	s := newStore(t)
	want := "sqlite: " + to + ": database or disk is full (13)"
	for name, err := range map[string]error{
		"of a store": s.Backup(t.Context(), to),
		"of a file":  sqlite.Backup(t.Context(), fileOf(t, s), to),
	} {
		require.EqualError(t, err, want, name)
		assert.ErrorIs(t, err, store.ErrFull, name)
		assert.NoFileExists(t, to, name)
	}
	source := filepath.Join(t.TempDir(), "source.db")
	require.NoError(t, sqlite.Backup(t.Context(), fileOf(t, s), source))
	file := filepath.Join(disk, "events.db")
	_, err := sqlite.Restore(t.Context(), file, source, nil)
	require.EqualError(t, err, "sqlite: "+file+".restoring: database or disk is full (13)")
}
