package sqlite_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/sqlite"
	"github.com/footfall-dev/footfall/collector/store"
	"github.com/footfall-dev/footfall/collector/store/storetest"
)

func statsOf(t *testing.T, s *sqlite.Store) sqlite.Stats {
	t.Helper()
	stats, err := s.Stats(t.Context())
	require.NoError(t, err)
	return stats
}

func TestStatsOfANewFileAreZero(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	sqlite.Settle(t, s)
	assert.Equal(t, sqlite.Stats{FreeTextIDs: 0xF000 << 16}, statsOf(t, s))
	require.NoError(t, s.Close())
	_, err := s.Stats(t.Context())
	assert.ErrorIs(t, err, store.ErrClosed)
}

func TestStatsCountWhatIsLeftToDo(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	sqlite.Settle(t, s)
	defer sqlite.HoldSweeper(t, s)()
	release := sqlite.HoldCompactor(t, s)
	for i := range 6 {
		e := numbered(i)
		e.At = begin.AddDate(0, 0, i%3)
		storetest.Add(t, s, e)
	}
	assert.Equal(t, 3, statsOf(t, s).BacklogDays)
	release()

	step := sqlite.HoldSteps(t, s)
	var compacting sync.WaitGroup
	compacting.Go(func() { sqlite.Settle(t, s) })
	require.Eventually(t, func() bool { return !sqlite.IsDue(s) && statsOf(t, s).BacklogDays == 3 }, 10*time.Second, time.Millisecond,
		"a day is worked on, and two wait")
	step()
	compacting.Wait()
	assert.Zero(t, statsOf(t, s).BacklogDays)

	sqlite.PlantKeys(t, s, 70, midday().Add(-store.DuplicateFor))
	assert.EqualValues(t, 70, statsOf(t, s).ExpiredKeys)
	assert.Zero(t, statsOf(t, s).UnsweptTexts)
	require.NoError(t, s.Forget(t.Context(), "s", time.Time{}))
	assert.EqualValues(t, 9, statsOf(t, s).UnsweptTexts, "six names, site, origin and path")
	assert.Zero(t, statsOf(t, s).ExpiredKeys)
}

func TestStatsCountTheIDsThatAreFree(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "events.db")
	s, last := full(t, file)
	assert.Zero(t, statsOf(t, s).FreeTextIDs)
	require.NoError(t, s.Forget(t.Context(), "s", time.Time{}))
	sqlite.Sweep(t, s)
	assert.EqualValues(t, last+1+3, statsOf(t, s).FreeTextIDs)
}

func TestStatsHaveTheTimeOfTheLastBackup(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "events.db")
	s := open(t, file, midday)
	assert.Zero(t, statsOf(t, s).LastBackup)
	backup := filepath.Join(t.TempDir(), "backup.db")
	began := time.Now().Truncate(time.Second)
	require.NoError(t, s.Backup(t.Context(), backup))
	first := statsOf(t, s).LastBackup
	assert.False(t, first.Before(began), "%v", first)
	require.Error(t, s.Backup(t.Context(), backup), "it exists")
	assert.Equal(t, first, statsOf(t, s).LastBackup)
	require.NoError(t, s.Close())

	_, err := sqlite.Restore(t.Context(), file, backup, nil)
	require.NoError(t, err)
	entries, err := filepath.Glob(backup + "*")
	require.NoError(t, err)
	assert.Equal(t, []string{backup}, entries, "a restore is no backup")
	s = open(t, file, midday)
	assert.Equal(t, first, statsOf(t, s).LastBackup)
	require.NoError(t, s.Close())
}

// A backup is often a cron job of root, but the service runs as another user.
func TestEveryUserMayReadTheTimeOfTheLastBackup(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("windows has no such modes")
	}
	file := filepath.Join(t.TempDir(), "events.db")
	s := open(t, file, midday)
	backup := filepath.Join(t.TempDir(), "backup.db")
	require.NoError(t, os.WriteFile(file+"-last-backup.new", nil, 0o600)) // as with umask 077
	require.NoError(t, s.Backup(t.Context(), backup))
	require.NoError(t, s.Close())
	for name, mode := range map[string]os.FileMode{file + "-last-backup": 0o644, backup: 0o600} {
		info, err := os.Stat(name)
		require.NoError(t, err)
		assert.Equal(t, mode, info.Mode(), name)
	}
}

func TestStatsAreThereIfTheTimeOfTheLastBackupCannotBeRead(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "events.db")
	var log bytes.Buffer
	s, err := sqlite.Open(t.Context(), sqlite.Config{File: file, Now: midday, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	require.NoError(t, err)
	noted := file + "-last-backup"
	lines := 0
	for _, unreadable := range []func() error{
		func() error { return os.Mkdir(noted, 0o700) }, // also for root
		func() error { return os.WriteFile(noted, []byte("yesterday"), 0o600) },
	} {
		require.NoError(t, unreadable())
		for range 3 {
			stats := statsOf(t, s)
			assert.Zero(t, stats.LastBackup)
			assert.NotZero(t, stats.FreeTextIDs)
		}
		lines++
		assert.Equal(t, lines, strings.Count(log.String(), "level=WARN"), "%s", &log)
		require.NoError(t, os.Remove(noted))
		statsOf(t, s)
	}
	assert.Contains(t, log.String(), "the time of the last backup cannot be read; metrics have 0")
	assert.Contains(t, log.String(), noted)
	require.NoError(t, s.Close())
}
