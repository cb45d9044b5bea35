package sqlite_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/sqlite"
	"github.com/footfall-dev/footfall/collector/store"
)

// The test runs again in a process with its own mounts, which end with it.
func TestABackupToAFullDiskNamesTheFileThatHasNoSpace(t *testing.T) {
	t.Parallel()
	const variable = "FOOTFALL_TEST_FULL_DISK"
	disk := os.Getenv(variable)
	if disk == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), variable+"="+t.TempDir())
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
		if os.Geteuid() != 0 {
			cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
			cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Geteuid(), Size: 1}}
		}
		out, err := cmd.CombinedOutput()
		if errors.Is(err, syscall.EPERM) || bytes.Contains(out, []byte(syscall.EPERM.Error())) {
			t.Skip("this machine does not let tests mount anything")
		}
		require.NoError(t, err, "%s", out)
		return
	}
	require.NoError(t, syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=64k"))
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
