package sqlite_test

import (
	"database/sql"
	"errors"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/sqlite"
	"github.com/footfall-dev/footfall/collector/store"
	"github.com/footfall-dev/footfall/collector/store/storetest"
)

// packedDays is the number of days of a packed store.
var packedDays = 5

// packed returns a store whose file has events, segments and rollups.
func packed(t *testing.T) (s *sqlite.Store, file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "events.db")
	s = openWithSegments(t, file, midday, 50)
	rng := rand.New(rand.NewPCG(1, 2))
	require.NoError(t, sqlite.AddAll(t.Context(), s, storetest.RandomEvents(rng, 1000, begin, begin.AddDate(0, 0, packedDays))))
	sqlite.Settle(t, s)
	require.NotZero(t, sqlite.Rollups(t, s))
	require.NotZero(t, sqlite.Segments(t, s))
	return s, file
}

// run executes statements in a file.
func run(t *testing.T, file, statements string) {
	t.Helper()
	db, err := sql.Open("sqlite", file)
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), statements)
	require.NoError(t, err)
	require.NoError(t, db.Close())
}

// contents returns a file and the names in its directory.
func contents(t *testing.T, file string) (data []byte, names []string) {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	all, err := os.ReadDir(filepath.Dir(file))
	require.NoError(t, err)
	for _, f := range all {
		names = append(names, f.Name())
	}
	return data, names
}

func TestCheckFindsNothingInAGoodFile(t *testing.T) {
	t.Parallel()
	s, file := packed(t)
	require.NoError(t, sqlite.Check(t.Context(), file), "open")
	backup := filepath.Join(t.TempDir(), "backup.db")
	require.NoError(t, s.Backup(t.Context(), backup))
	require.NoError(t, sqlite.Check(t.Context(), backup), "a backup")
	require.NoError(t, s.Close())
	was, beside := contents(t, file)
	require.NoError(t, sqlite.Check(t.Context(), file), "closed")
	now, besideNow := contents(t, file)
	assert.Equal(t, was, now)
	assert.Equal(t, beside, besideNow, "no new files")

	versions, err := golden.ReadDir("testdata")
	require.NoError(t, err)
	for i := range versions {
		require.NoError(t, sqlite.Check(t.Context(), goldenFile(t, i+1)), "version %d of the format", i+1)
	}
}

func TestCheckReadsTheLogOfAProcessThatWasKilled(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "footfall.db")
	kill(t, file, 0, 20*time.Millisecond)
	log, err := os.Stat(file + "-wal")
	require.NoError(t, err)
	require.NoError(t, sqlite.Check(t.Context(), file))
	after, err := os.Stat(file + "-wal")
	require.NoError(t, err)
	assert.Equal(t, log.Size(), after.Size(), "the log is as it was")
}

func TestCheckNamesTheFileAndItsDamage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, statements, says string }{
		{"a part of a segment is cut", "UPDATE packed SET data = substr(data, 1, length(data) - 1) WHERE rowid = (SELECT max(rowid) FROM packed)", "segment of 2026"},
		{"a part of a segment is missing", "DELETE FROM packed WHERE part = 20", "segment of 2026"},
		{"a segment is missing", "PRAGMA foreign_keys = 0; DELETE FROM piece WHERE id = (SELECT min(id) FROM piece)", "belong to rows that are missing"},
		{"a table of a rollup is cut", "UPDATE rollup SET data = substr(data, 1, length(data) - 1) WHERE part = 15", "rollup of 2026"},
		{"the props of a rollup are noise", "UPDATE rollup SET data = randomblob(100) WHERE part = 1", "rollup of 2026"},
		{"the totals of a rollup are missing", "DELETE FROM rollup WHERE part = 0", "rollup of 2026"},
		{"the props of an event are cut", "UPDATE event SET props = x'08' WHERE seq = 3", "event 3 of 2026"},
		{"an event is missing", "DELETE FROM event WHERE seq = 3", "does not have the events of its time"},
		{"a text of an event is missing", "DELETE FROM text WHERE value = '/shop'", "a text is missing"},
		{"all texts are missing", "DROP TABLE text", "no such table"},
		{"the counter of events is missing", "DELETE FROM counter", "counter of events"},
		{"the counter of events is behind them", "UPDATE counter SET value = 3", "counter of events"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, file := packed(t)
			require.NoError(t, s.Close())
			run(t, file, c.statements)
			err := sqlite.Check(t.Context(), file)
			require.ErrorContains(t, err, file)
			assert.ErrorContains(t, err, c.says)
			repairs := strings.Contains(c.name, "a part of a segment") || strings.Contains(c.name, "a rollup")
			assert.Equal(t, repairs, errors.Is(err, sqlite.ErrPrecomputed), "%v", err)
			assert.Equal(t, repairs, strings.Contains(err.Error(), "makes it again"), "%v", err)

			run(t, file, "UPDATE event SET props = x'08' WHERE seq = 7")
			err = sqlite.Check(t.Context(), file)
			require.Error(t, err)
			assert.NotErrorIs(t, err, sqlite.ErrPrecomputed, "an event is damaged, too")
		})
	}
}

// A segment that the store repairs does not hide one that it cannot repair.
func TestCheckFindsDamageBehindDamageThatIsRepaired(t *testing.T) {
	t.Parallel()
	s, file := packed(t)
	require.NoError(t, s.Close())
	run(t, file, "UPDATE packed SET data = substr(data, 1, length(data) - 1) WHERE piece = (SELECT id FROM piece ORDER BY site, first LIMIT 1); DELETE FROM event WHERE at = (SELECT max(at) FROM event)")
	err := sqlite.Check(t.Context(), file)
	require.ErrorContains(t, err, "makes it again")
	require.ErrorContains(t, err, "does not have the events of its time")
	assert.NotErrorIs(t, err, sqlite.ErrPrecomputed)
}

// What Check says about damage holds: reports are right, and then nothing is damaged.
func TestTheStoreRepairsWhatCheckSaysThatItRepairs(t *testing.T) {
	t.Parallel()
	for _, statements := range []string{
		"UPDATE packed SET data = substr(data, 1, length(data) - 1)",
		"DELETE FROM packed WHERE part = 20",
		"UPDATE rollup SET data = randomblob(100)",
		"DELETE FROM rollup WHERE part = 0",
	} {
		s, file := packed(t)
		require.NoError(t, s.Close())
		run(t, file, statements)
		require.ErrorIs(t, sqlite.Check(t.Context(), file), sqlite.ErrPrecomputed, statements)
		s, err := sqlite.OpenWithSegments(t.Context(), sqlite.Config{File: file, Now: midday, Logger: slog.New(slog.DiscardHandler)}, 50)
		require.NoError(t, err)
		sqlite.Settle(t, s)
		for _, site := range []string{"s", "t"} {
			for day := begin; day.Before(begin.AddDate(0, 0, packedDays)); day = day.AddDate(0, 0, 1) {
				for _, shift := range []time.Duration{0, time.Millisecond} { // whole days read rollups, others segments
					q := store.Query{Site: site, From: day.Add(shift), To: day.AddDate(0, 0, 1).Add(shift)}
					storetest.Compare(t, s, s, q)
				}
			}
		}
		sqlite.Settle(t, s)
		require.NoError(t, s.Close())
		assert.NoError(t, sqlite.Check(t.Context(), file), statements)
	}
}

func TestCheckFindsDamagedPages(t *testing.T) {
	t.Parallel()
	s, file := packed(t)
	require.NoError(t, s.Close())
	whole, err := os.ReadFile(file)
	require.NoError(t, err)
	const page = 4096
	for at := page; at+page < len(whole); at += page { // the first page has the schema
		damaged := filepath.Join(t.TempDir(), "damaged.db")
		data := append([]byte{}, whole...)
		for i := range page {
			data[at+i] ^= 0x55
		}
		require.NoError(t, os.WriteFile(damaged, data, 0o600))
		err := sqlite.Check(t.Context(), damaged)
		assert.ErrorContains(t, err, damaged, "page %d", at/page)
	}
}

func TestCheckRefusesWhatIsNoStore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	empty, text := filepath.Join(dir, "empty.db"), filepath.Join(dir, "text.db")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	require.NoError(t, os.WriteFile(text, []byte("not a database, but long enough to be read as one"), 0o600))
	for file, says := range map[string]string{empty: "is empty", text: "not a database", filepath.Join(dir, "none"): "no such file"} {
		require.ErrorContains(t, sqlite.Check(t.Context(), file), says)
	}
	assert.NoFileExists(t, filepath.Join(dir, "none"))

	file, backup, _ := crashed(t)
	overwrite(t, file, backup)
	require.ErrorContains(t, sqlite.Check(t.Context(), file), "its log (-wal) belongs to the file before")
}

func TestCheckFindsEventsOfSitesThatDoNotExist(t *testing.T) {
	t.Parallel()
	s, file := packed(t)
	kinds := []string{"site", "deletion"}
	require.NoError(t, s.Put(t.Context(), "site", store.Record{ID: "s", Data: []byte("{}")}))
	err := sqlite.Check(t.Context(), file, kinds...)
	require.ErrorContains(t, err, "has events of the site t, which does not exist")
	assert.NotContains(t, err.Error(), "the site s,")
	assert.NotErrorIs(t, err, sqlite.ErrPrecomputed)
	require.NoError(t, s.Put(t.Context(), "deletion", store.Record{ID: "t", Data: []byte("{}")}))
	assert.NoError(t, sqlite.Check(t.Context(), file, kinds...), "the events of t are being removed")
}
