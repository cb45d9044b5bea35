package sqlite_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/sqlite"
	"github.com/footfall-dev/footfall/collector/store"
	"github.com/footfall-dev/footfall/collector/store/storetest"
)

// The file of these tests has this many events on each of some days, of two sites. Each event has its own
// URL query, so that a test finds the page that has it.
const (
	damagedDays   = 12
	damagedEvents = 120
)

func queryOf(site string, day, i int) string {
	return fmt.Sprintf("event=%s-%03d-%03d-", site, day, i)
}

// manyDays creates a file with all segments and rollups.
func manyDays(t *testing.T) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "events.db")
	s := open(t, file, midday)
	var all []store.Event
	for _, site := range []string{"s", "t"} {
		for day := range damagedDays {
			for i := range damagedEvents {
				e := numbered(i % 10)
				e.Site, e.URL = site, "https://shop.example.com/?"+queryOf(site, day, i)+strings.Repeat("x", 100)
				e.At = begin.AddDate(0, 0, day-damagedDays).Add(time.Duration(i) * 11 * time.Minute)
				all = append(all, e)
			}
		}
	}
	require.NoError(t, sqlite.AddAll(t.Context(), s, all))
	sqlite.Settle(t, s)
	require.Equal(t, 2*damagedDays, sqlite.Rollups(t, s))
	require.NoError(t, s.Close())
	return file
}

// overwritePage overwrites the page of a file that has a text.
func overwritePage(t *testing.T, file, text string) {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	const page = 4096
	at := bytes.Index(data, []byte(text))
	require.Positive(t, at, text)
	copy(data[at/page*page:], bytes.Repeat([]byte{0xa5}, page))
	require.NoError(t, os.WriteFile(file, data, 0o600))
}

func TestTheCompactorLeavesOutADayThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for name, texts := range map[string][]string{
		"in the middle":                        {queryOf("s", 7, 50)},
		"at its beginning":                     {queryOf("s", 7, 0)},
		"at the beginning of its site":         {queryOf("t", 0, 0)},
		"the last one of a site":               {queryOf("s", damagedDays-1, damagedEvents-1)},
		"the first one of all":                 {queryOf("s", 0, 0)},
		"two days of a site":                   {queryOf("s", 3, 0), queryOf("s", 9, 0)},
		"the last one of all, and of its site": {queryOf("t", damagedDays-1, damagedEvents-1)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := manyDays(t)
			run(t, file, "DELETE FROM rollup; DELETE FROM packed; DELETE FROM piece; PRAGMA wal_checkpoint(TRUNCATE)")
			for _, text := range texts {
				overwritePage(t, file, text)
			}
			for start := range 3 {
				log := &lines{}
				s, err := sqlite.Open(t.Context(), sqlite.Config{File: file, Now: midday, Logger: slog.New(slog.NewTextHandler(log, nil))})
				require.NoError(t, err)
				require.NoError(t, sqlite.TrySettle(t.Context(), s))
				require.NoError(t, sqlite.TrySettle(t.Context(), s))
				assert.GreaterOrEqual(t, sqlite.Rollups(t, s), 2*damagedDays-2*len(texts), "a page has events of two days at most")
				assert.Less(t, sqlite.Rollups(t, s), 2*damagedDays)
				named := strings.Count(log.String(), "cannot be computed")
				assert.GreaterOrEqual(t, named, 1, log.String())
				assert.LessOrEqual(t, named, 4*len(texts), "each day once, and perhaps the day beside it: %s", log.String())
				assert.Regexp(t, `site=[st] day=2026-02-\d\d`, log.String())
				sites, err := s.Sites(t.Context())
				require.NoError(t, err)
				assert.Equal(t, []string{"s", "t"}, sites)
				if start == 0 {
					assert.ErrorContains(t, s.Damage(), "malformed")
				} else {
					assert.NoError(t, s.Damage(), "it was known")
				}
				require.NoError(t, s.Close())
			}
		})
	}
}

// Each start meets the damage again: a page asks for the figures of the days, and an export for the events.
func TestDamageThatAnEarlierStartReportedIsNotReportedAgainByReports(t *testing.T) {
	t.Parallel()
	days := func(from, to int) store.Query {
		return store.Query{Site: "s", From: begin.AddDate(0, 0, from-damagedDays), To: begin.AddDate(0, 0, to-damagedDays)}
	}
	export := func(s *sqlite.Store, q store.Query) error {
		return s.Export(t.Context(), q, func(store.Event) error { return nil })
	}
	for name, prepare := range map[string]string{
		"of a day that cannot be precomputed": "DELETE FROM rollup; DELETE FROM packed; DELETE FROM piece; PRAGMA wal_checkpoint(TRUNCATE)",
		"of a day that was precomputed":       "PRAGMA wal_checkpoint(TRUNCATE)", // only the export meets it
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := manyDays(t)
			run(t, file, prepare)
			overwritePage(t, file, queryOf("s", 3, 50))
			for start := range 4 {
				s, err := sqlite.Open(t.Context(), sqlite.Config{File: file, Now: midday, Logger: silent})
				require.NoError(t, err)
				require.NoError(t, sqlite.TrySettle(t.Context(), s))
				_, err = storetest.Series(t.Context(), s, days(0, damagedDays), store.Day)
				assert.Equal(t, prepare[:6] == "DELETE", err != nil)
				require.ErrorContains(t, export(s, days(3, 4)), "malformed")
				require.ErrorContains(t, export(s, days(0, damagedDays)), "malformed")
				require.NoError(t, export(s, days(5, damagedDays)))
				if start == 0 {
					assert.ErrorContains(t, s.Damage(), "malformed")
				} else {
					assert.NoError(t, s.Damage(), "it was known")
				}
				require.NoError(t, s.Close())
			}
		})
	}
}

// Retention tries again at each start.
func TestDamageThatKeepsEventsFromBeingRemovedIsReportedOnce(t *testing.T) {
	t.Parallel()
	file := manyDays(t)
	overwritePage(t, file, queryOf("s", 3, 50))
	for start := range 3 {
		s, err := sqlite.Open(t.Context(), sqlite.Config{File: file, Now: midday, Logger: silent})
		require.NoError(t, err)
		require.ErrorContains(t, s.Forget(t.Context(), "s", begin.AddDate(0, 0, 5-damagedDays)), "malformed")
		require.NoError(t, s.Forget(t.Context(), "t", begin.AddDate(0, 0, 5-damagedDays)))
		if start == 0 {
			assert.ErrorContains(t, s.Damage(), "malformed")
			require.NoError(t, s.Close())
			run(t, file, "INSERT OR REPLACE INTO record VALUES ('unreadable', 'sweep', x'')") // the sweep reports its own
			continue
		}
		assert.NoError(t, s.Damage(), "it was known")
		require.NoError(t, s.Close())
	}
}

func TestAnotherDamagedDayIsReportedByReports(t *testing.T) {
	t.Parallel()
	file := manyDays(t)
	run(t, file, "DELETE FROM rollup; DELETE FROM packed; DELETE FROM piece; PRAGMA wal_checkpoint(TRUNCATE)")
	overwritePage(t, file, queryOf("s", 3, 50))
	for start := range 3 {
		s, err := sqlite.Open(t.Context(), sqlite.Config{File: file, Now: midday, Logger: silent})
		require.NoError(t, err)
		require.NoError(t, sqlite.TrySettle(t.Context(), s))
		if start == 1 {
			require.NoError(t, s.Close())
			overwritePage(t, file, queryOf("s", 9, 50)) // of a day that is precomputed now
			continue
		}
		err = s.Export(t.Context(), store.Query{Site: "s", From: begin.AddDate(0, 0, 9-damagedDays), To: begin}, func(store.Event) error { return nil })
		assert.Equal(t, start == 2, err != nil)
		assert.Error(t, s.Damage())
		require.NoError(t, s.Close())
	}
}

// A file of version 5 has what precomputed figures need, except for the events of damaged pages.
func TestAnUpgradeComputesADayThatCannotBeReadFromWhatIsPrecomputed(t *testing.T) {
	t.Parallel()
	file := manyDays(t)
	want := open(t, file, midday)
	q := store.Query{Site: "s", From: begin.AddDate(0, 0, -damagedDays), To: begin}
	totals, err := storetest.Totals(t.Context(), want, q)
	require.NoError(t, err)
	pages, err := storetest.Top(t.Context(), want, q, store.EventPages, 10)
	require.NoError(t, err)
	require.NoError(t, want.Close())
	run(t, file, "DELETE FROM rollup WHERE part IN (2, 3, 18, 19, 20, 21); DROP TABLE unswept; DROP TABLE sweep; DROP TABLE block; DELETE FROM counter WHERE name <> 'seq'; PRAGMA user_version = 5; PRAGMA wal_checkpoint(TRUNCATE)")
	overwritePage(t, file, queryOf("s", 7, 50))

	s, err := sqlite.Open(t.Context(), sqlite.Config{File: file, Now: midday, Logger: silent})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	for range 2 {
		got, err := storetest.Totals(t.Context(), s, q)
		require.NoError(t, err)
		assert.Equal(t, totals, got)
		rows, err := storetest.Top(t.Context(), s, q, store.EventPages, 10)
		require.NoError(t, err)
		assert.Equal(t, pages, rows)
		require.NoError(t, sqlite.TrySettle(t.Context(), s))
	}
	assert.Equal(t, 2*damagedDays, sqlite.Scalar[int](t, s, "SELECT count(*) FROM rollup WHERE part = 1"), "all days have their props again")
	sqlite.AwaitSweeper(s)
	assert.ErrorContains(t, s.Damage(), "malformed", "the search for texts has met it")
}

// Without all events it is not known which texts are in use.
func TestASweepThatMeetsDamageRemovesNothingAndReportsItOnce(t *testing.T) {
	t.Parallel()
	file := manyDays(t)
	s := open(t, file, midday)
	hold := sqlite.HoldSweeper(t, s)
	require.NoError(t, s.Forget(t.Context(), "t", time.Time{}))
	require.NoError(t, s.Close())
	hold()
	left, err := sqlite.Unswept(t.Context(), file)
	require.NoError(t, err)
	require.NotZero(t, left)
	whole, err := os.ReadFile(file)
	require.NoError(t, err)
	overwritePage(t, file, queryOf("s", 7, 50))
	for start := range 3 {
		log := &lines{}
		s, err := sqlite.Open(t.Context(), sqlite.Config{File: file, Now: midday, Logger: slog.New(slog.NewTextHandler(log, nil))})
		require.NoError(t, err)
		sqlite.AwaitSweeper(s)
		assert.Equal(t, 1, strings.Count(log.String(), "the texts of removed events stay"), log.String())
		if start == 0 {
			assert.ErrorContains(t, s.Damage(), "malformed")
		} else {
			assert.NoError(t, s.Damage(), "it was known")
		}
		require.NoError(t, s.Close())
		unswept, err := sqlite.Unswept(t.Context(), file)
		require.NoError(t, err)
		assert.Equal(t, left, unswept)
	}

	damaged, err := os.ReadFile(file)
	require.NoError(t, err)
	page := bytes.Index(whole, []byte(queryOf("s", 7, 50))) / 4096 * 4096
	require.NoError(t, os.WriteFile(file, slices.Concat(damaged[:page], whole[page:page+4096], damaged[page+4096:]), 0o600))
	s = open(t, file, midday)
	sqlite.Sweep(t, s)
	require.NoError(t, s.Close())
	assert.NoError(t, sqlite.Check(t.Context(), file))
	overwritePage(t, file, queryOf("s", 7, 50))
	run(t, file, "INSERT INTO unswept SELECT max(id), 1 FROM text")
	s, err = sqlite.Open(t.Context(), sqlite.Config{File: file, Now: midday, Logger: silent})
	require.NoError(t, err)
	sqlite.AwaitSweeper(s)
	assert.Error(t, s.Damage(), "a sweep has ended since the last report")
	require.NoError(t, s.Close())
}
