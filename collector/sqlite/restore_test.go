package sqlite_test

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/sqlite"
	"github.com/footfall-dev/footfall/collector/store"
)

// events returns the number of events in a file.
func events(t *testing.T, file string) (n int) {
	t.Helper()
	s := open(t, file, nil)
	all := store.Query{Site: "s", From: begin.AddDate(-1, 0, 0), To: begin.AddDate(1, 0, 0)}
	require.NoError(t, s.Export(t.Context(), all, func(store.Event) error { n++; return nil }))
	require.NoError(t, s.Close())
	return n
}

// crashed returns a file whose process was killed, with a log that is not empty, and a backup
// from before.
func crashed(t *testing.T) (file, backup string, before int) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "footfall.db")
	kill(t, file, 0, 20*time.Millisecond)
	before = events(t, file)
	backup = filepath.Join(t.TempDir(), "backup.db")
	require.NoError(t, sqlite.Backup(t.Context(), file, backup))
	kill(t, file, 1, 50*time.Millisecond)
	log, err := os.Stat(file + "-wal")
	require.NoError(t, err)
	require.NotZero(t, log.Size())
	return file, backup, before
}

func overwrite(t *testing.T, file, by string) {
	t.Helper()
	data, err := os.ReadFile(by)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, data, 0o600))
}

// A copy of the file that was made while no store had it open is as good as a backup, but has
// not a backup's identity.
func TestACopyFromBeforeTheLastStartIsNotOpenedWithTheLog(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "footfall.db")
	before := events(t, file) // makes the file
	kill(t, file, 0, 20*time.Millisecond)
	before += events(t, file)
	cold, err := os.ReadFile(file)
	require.NoError(t, err)
	kill(t, file, 1, 50*time.Millisecond)
	require.NoError(t, os.WriteFile(file, cold, 0o600))

	_, err = sqlite.Open(t.Context(), sqlite.Config{File: file})
	require.ErrorContains(t, err, "its log (-wal) belongs to the file before")
	to := filepath.Join(t.TempDir(), "backup.db")
	require.ErrorContains(t, sqlite.Backup(t.Context(), file, to), "its log (-wal) belongs to the file before")
	assert.NoFileExists(t, to)
	for _, suffix := range []string{"-wal", "-shm"} {
		require.NoError(t, os.Rename(file+suffix, file+suffix+".old"))
	}
	assert.Equal(t, before, events(t, file))
	checkIntegrity(t, file)
}

func TestAFileIsNotOpenedWithTheLogOfAnother(t *testing.T) {
	t.Parallel()
	file, backup, before := crashed(t)
	overwrite(t, file, backup)
	log, err := os.ReadFile(file + "-wal")
	require.NoError(t, err)

	for range 2 {
		_, err = sqlite.Open(t.Context(), sqlite.Config{File: file})
		require.ErrorContains(t, err, "its log (-wal) belongs to the file before")
	}
	now, err := os.ReadFile(file)
	require.NoError(t, err)
	copied, err := os.ReadFile(backup)
	require.NoError(t, err)
	assert.True(t, bytes.Equal(copied, now), "the file is unchanged")
	after, err := os.ReadFile(file + "-wal")
	require.NoError(t, err)
	assert.True(t, bytes.Equal(log, after), "and the log")

	for _, suffix := range []string{"-wal", "-shm"} {
		require.NoError(t, os.Rename(file+suffix, file+suffix+".old"))
	}
	assert.Equal(t, before, events(t, file))
	checkIntegrity(t, file)
}

func TestRestoreAfterACrashGivesBackWhatTheBackupHas(t *testing.T) {
	t.Parallel()
	for name, overwritten := range map[string]bool{"at once": false, "after the file was overwritten": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file, backup, before := crashed(t)
			if overwritten {
				overwrite(t, file, backup)
			}
			kept, err := sqlite.Restore(t.Context(), file, backup, nil)
			require.NoError(t, err)
			for round := range 3 { // later crashes included
				assert.GreaterOrEqual(t, events(t, file), before)
				if round == 0 {
					assert.Equal(t, before, events(t, file))
				}
				checkIntegrity(t, file)
				kill(t, file, 2+round, 20*time.Millisecond)
			}
			require.GreaterOrEqual(t, len(kept), 2, "the file and its log")
			if !overwritten {
				assert.Greater(t, events(t, kept[0]), before, "what was replaced is complete")
			}
			assert.NoFileExists(t, file+".restoring")
		})
	}
}

func TestRestoreIntoAnEmptyDirectory(t *testing.T) {
	t.Parallel()
	_, backup, before := crashed(t)
	file := filepath.Join(t.TempDir(), "new", "footfall.db")
	kept, err := sqlite.Restore(t.Context(), file, backup, nil)
	require.NoError(t, err)
	assert.Empty(t, kept)
	assert.Equal(t, before, events(t, file))
	if runtime.GOOS != "windows" {
		info, err := os.Stat(file)
		require.NoError(t, err)
		assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	}
}

func TestRestoreRefusesWhatIsNoBackup(t *testing.T) {
	t.Parallel()
	file, backup, _ := crashed(t)
	dir := t.TempDir()
	damaged, empty, text := filepath.Join(dir, "damaged.db"), filepath.Join(dir, "empty.db"), filepath.Join(dir, "text.db")
	data, err := os.ReadFile(backup)
	require.NoError(t, err)
	for i := 3 * 4096; i < len(data); i += 97 { // the header and the schema are whole
		data[i] ^= 0xff
	}
	require.NoError(t, os.WriteFile(damaged, data, 0o600))
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	require.NoError(t, os.WriteFile(text, []byte("not a database, but long enough to be read as one"), 0o600))
	was, err := os.ReadFile(file)
	require.NoError(t, err)
	for from, reason := range map[string]string{
		damaged: "damaged.db: ", empty: "is empty", text: "not a database", file: "is the file to replace", filepath.Join(dir, "none"): "no such file",
	} {
		_, err := sqlite.Restore(t.Context(), file, from, nil)
		assert.ErrorContains(t, err, reason, from)
		now, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.True(t, bytes.Equal(was, now), "%s: the file is unchanged", from)
		assert.NoFileExists(t, file+".restoring")
	}
}

func TestRestoreRefusesAFileThatIsOpen(t *testing.T) {
	t.Parallel()
	_, backup, before := crashed(t)
	file := filepath.Join(t.TempDir(), "footfall.db")
	_, err := sqlite.Restore(t.Context(), file, backup, nil)
	require.NoError(t, err)
	s := open(t, file, nil)
	_, err = sqlite.Restore(t.Context(), file, backup, nil)
	require.ErrorContains(t, err, "in use by a running service; stop it first")
	require.NoError(t, s.Close())
	assert.Equal(t, before, events(t, file))
}

// Two paths of one file have one lock.
func TestASymbolicLinkToAFileThatIsOpenIsRefused(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "footfall.db")
	s := open(t, file, nil)
	link := filepath.Join(t.TempDir(), "footfall.db")
	if err := os.Symlink(file, link); err != nil {
		t.Skip("this system lets tests make no links:", err)
	}
	_, err := sqlite.Open(t.Context(), sqlite.Config{File: link})
	require.ErrorContains(t, err, "in use by a running service; stop it first")
	require.NoError(t, s.Close())
	s = open(t, link, nil)
	assert.NoFileExists(t, link+"-lock")
	require.NoError(t, s.Close())
}
