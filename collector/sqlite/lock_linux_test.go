package sqlite_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/sqlite"
)

// The lock is on the file, so that neither another name of it nor a lock file that was removed
// lets a second writer in.
func TestAFileThatIsOpenIsRefusedByAnyName(t *testing.T) {
	t.Parallel()
	file, backup := filepath.Join(t.TempDir(), "footfall.db"), filepath.Join(t.TempDir(), "backup.db")
	s := open(t, file, nil)
	require.NoError(t, s.Backup(t.Context(), backup))
	link := filepath.Join(t.TempDir(), "footfall.db")
	require.NoError(t, os.Link(file, link))
	require.NoError(t, os.Remove(file+"-lock"))
	for _, name := range []string{link, file} {
		_, err := sqlite.Open(t.Context(), sqlite.Config{File: name})
		require.ErrorContains(t, err, "in use by a running service; stop it first")
		_, err = sqlite.Restore(t.Context(), name, backup)
		require.ErrorContains(t, err, "in use by a running service; stop it first")
	}
	_, err := s.Add(t.Context(), numbered(1))
	require.NoError(t, err, "SQLite keeps its own locks")
	require.NoError(t, s.Close())
	assert.Equal(t, 1, events(t, file))
	checkIntegrity(t, file)
}
