package sqlite_test

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
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
		_, err = sqlite.Restore(t.Context(), name, backup, nil)
		require.ErrorContains(t, err, "in use by a running service; stop it first")
	}
	_, err := s.Add(t.Context(), numbered(1))
	require.NoError(t, err, "SQLite keeps its own locks")
	require.NoError(t, s.Close())
	assert.Equal(t, 1, events(t, file))
	checkIntegrity(t, file)
}

// A process that has just been forked has the descriptors of its parent.
func TestTheLockOfAClosedFileDoesNotOutliveItInAChild(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "footfall.db")
	open(t, file, nil).Close() // makes the file, which is locked from the next Open on
	s := open(t, file, nil)
	all, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	copies := 0
	for _, fd := range all {
		n, err := strconv.Atoi(fd.Name())
		require.NoError(t, err)
		if name, _ := os.Readlink("/proc/self/fd/" + fd.Name()); name != file {
			continue
		}
		child, err := syscall.Dup(n)
		require.NoError(t, err)
		defer syscall.Close(child)
		copies++
	}
	require.Positive(t, copies)
	require.NoError(t, s.Close())
	again, err := sqlite.Open(t.Context(), sqlite.Config{File: file})
	require.NoError(t, err)
	require.NoError(t, again.Close())
}
