package sqlite_test

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/sqlite"
	"github.com/footfall-dev/footfall/collector/sqlite/internal/colstore"
	"github.com/footfall-dev/footfall/collector/store"
	"github.com/footfall-dev/footfall/collector/store/storetest"
)

func TestAFileOfEveryVersionIsReadAndWritten(t *testing.T) {
	t.Parallel()
	versions, err := golden.ReadDir("testdata")
	require.NoError(t, err)
	for i := range versions {
		t.Run(strconv.Itoa(i+1), func(t *testing.T) {
			t.Parallel()
			file := goldenFile(t, i+1)
			for round := range 3 { // the first time with a migration
				useGolden(t, file, len(versions), round)
			}
		})
	}
}

// goldenEvents is the number of events in a golden file.
const goldenEvents = 60

// useGolden compares the file's reports and adds an event. Before, it has been called as often as
// round says.
func useGolden(t *testing.T, file string, version, round int) {
	t.Helper()
	s := openWithSegments(t, file, midday, 7)
	defer func() { require.NoError(t, s.Close()) }()
	assert.Equal(t, version, sqlite.Scalar[int](t, s, "SELECT user_version FROM pragma_user_version"))
	ref, known := storetest.NewReference(), 0
	for _, site := range []string{"s", "t"} {
		q := store.Query{Site: site, From: begin, To: end}
		require.NoError(t, s.Export(t.Context(), q, func(e store.Event) error {
			known++
			storetest.Add(t, ref, e)
			return nil
		}))
	}
	assert.Equal(t, goldenEvents+round, known)
	q := store.Query{Site: "s", From: begin, To: end}
	storetest.Compare(t, ref, s, q)
	sqlite.Settle(t, s)
	assert.Equal(t, 6, sqlite.Rollups(t, s), "three days of two sites")
	storetest.Compare(t, ref, s, q)
	e := numbered(round)
	e.At = begin.AddDate(0, 0, 1)
	storetest.Add(t, s, e)
	storetest.Add(t, ref, e)
	storetest.Compare(t, ref, s, q)
	sqlite.Settle(t, s)
	storetest.Compare(t, ref, s, q)
	records, err := s.Records(t.Context(), "site")
	require.NoError(t, err)
	assert.Equal(t, []store.Record{{ID: "s", Data: []byte(`{"name":"Shop"}`)}}, records)
}

// A new part of rollups is missing from the rollups of earlier versions. That is no damage.
// missingParts bounds the parts that are tried.
var missingParts = math.MaxInt

func TestARollupWithoutAPartIsNotRolledUpYet(t *testing.T) {
	t.Parallel()
	parts := colstore.RollupParts()
	for _, part := range parts[:min(len(parts), missingParts)] {
		file := goldenFile(t, 1)
		s := openWithSegments(t, file, midday, 7)
		sqlite.Settle(t, s)
		before := sqlite.Scalar[int](t, s, "SELECT count(*) FROM rollup")
		sqlite.Exec(t, s, fmt.Sprintf("DELETE FROM rollup WHERE part = %d", part))
		ref, q := storetest.NewReference(), store.Query{Site: "s", From: begin, To: end}
		require.NoError(t, s.Export(t.Context(), q, func(e store.Event) error { storetest.Add(t, ref, e); return nil }))
		release := sqlite.HoldCompactor(t, s)
		storetest.Compare(t, ref, s, q)
		release()
		require.NoError(t, s.Close())

		s = openWithSegments(t, file, midday, 7)
		sqlite.Settle(t, s)
		assert.Equal(t, before, sqlite.Scalar[int](t, s, "SELECT count(*) FROM rollup"), "the next start makes the part %d", part)
		storetest.Compare(t, ref, s, q)
		require.NoError(t, s.Close())
	}
}

// rawPart is a part of a file, without its checksum.
type rawPart struct {
	table       string
	owner, when int64 // the site and the day, or the segment and 0
	part        int
	data        string
}

// rawParts returns all parts of a file that was not opened since its version wrote it.
func rawParts(t *testing.T, file string, version int) (all []rawPart) {
	t.Helper()
	db, err := sql.Open("sqlite", file)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	rows, err := db.QueryContext(t.Context(), "SELECT 'rollup', site, day, part, data FROM rollup UNION ALL SELECT 'packed', piece, 0, part, data FROM packed")
	require.NoError(t, err)
	defer func() { require.NoError(t, rows.Close()) }()
	for rows.Next() {
		var p rawPart
		var data []byte
		require.NoError(t, rows.Scan(&p.table, &p.owner, &p.when, &p.part, &data))
		if version >= 4 {
			data, err = colstore.Unseal(p.part, data)
			require.NoError(t, err)
		}
		p.data = string(data)
		all = append(all, p)
	}
	require.NoError(t, rows.Err())
	return all
}

func TestAnUpgradeKeepsWhatWasPrecomputed(t *testing.T) {
	t.Parallel()
	for version := 2; version < sqlite.Version; version++ {
		t.Run(strconv.Itoa(version), func(t *testing.T) {
			t.Parallel()
			file := goldenFile(t, version)
			before := rawParts(t, file, version)
			require.NoError(t, sqlite.Migrate(t.Context(), file))
			after := rawParts(t, file, sqlite.Version)
			kept := 0
			for _, part := range before {
				if version < 6 && part.table == "rollup" && part.part == colstore.PartProps {
					assert.NotContains(t, after, part, "it has an old form")
				} else {
					assert.Contains(t, after, part)
					kept++
				}
			}
			assert.GreaterOrEqual(t, kept, 6*7+6*10, "of six days")
			require.NoError(t, sqlite.Check(t.Context(), file), "all segments and rollups have the new form")
			if version < 6 {
				assert.Len(t, after, 6*9+6*12)
			} else {
				assert.Len(t, after, len(before))
			}
		})
	}
}

// compareFigures compares reports. None of them returns single events.
func compareFigures(t *testing.T, want, got store.Store, q store.Query) {
	t.Helper()
	for name, ask := range map[string]func(store.Store) (any, error){
		"totals": func(s store.Store) (any, error) { return storetest.Totals(t.Context(), s, q) },
		"days":   func(s store.Store) (any, error) { return storetest.Series(t.Context(), s, q, store.Day) },
		"hours":  func(s store.Store) (any, error) { return storetest.Series(t.Context(), s, q, store.Hour) },
		"props":  func(s store.Store) (any, error) { return storetest.Props(t.Context(), s, q, "paid", 100) },
		"funnel": func(s store.Store) (any, error) {
			return s.Funnel(t.Context(), q, []store.Match{{Page: "/*"}, {Event: "paid"}})
		},
	} {
		w, err := ask(want)
		require.NoError(t, err)
		g, err := ask(got)
		require.NoError(t, err)
		assert.Equal(t, w, g, name)
	}
	for _, d := range store.Dimensions() {
		w, err := storetest.Top(t.Context(), want, q, d, 100)
		require.NoError(t, err)
		g, err := storetest.Top(t.Context(), got, q, d, 100)
		require.NoError(t, err)
		assert.Equal(t, w, g, d)
	}
}

// Without its events, the figures of a day can only come from what was precomputed.
func TestAnUpgradeKeepsTheFiguresOfDaysWithoutReadingTheirEvents(t *testing.T) {
	t.Parallel()
	for version := 2; version <= 5; version++ {
		t.Run(strconv.Itoa(version), func(t *testing.T) {
			t.Parallel()
			want := openWithSegments(t, goldenFile(t, version), midday, 7)
			defer func() { require.NoError(t, want.Close()) }()
			file := goldenFile(t, version)
			db, err := sql.Open("sqlite", file)
			require.NoError(t, err)
			_, err = db.ExecContext(t.Context(), "DELETE FROM event WHERE EXISTS (SELECT 1 FROM event AS earlier WHERE earlier.site = event.site AND earlier.at / 86400000 = event.at / 86400000 AND (earlier.at, earlier.seq) < (event.at, event.seq))")
			require.NoError(t, err)
			require.NoError(t, db.Close())
			require.NoError(t, sqlite.Migrate(t.Context(), file))
			run(t, file, "UPDATE sweep SET searched = 1") // otherwise the texts of the events that are gone are removed
			got := openWithSegments(t, file, midday, 7)
			defer func() { require.NoError(t, got.Close()) }()
			for _, site := range []string{"s", "t"} {
				compareFigures(t, want, got, store.Query{Site: site, From: begin, To: end})
			}
			sqlite.Settle(t, got)
			assert.Equal(t, 6, sqlite.Rollups(t, got))
			for _, site := range []string{"s", "t"} {
				compareFigures(t, want, got, store.Query{Site: site, From: begin, To: end})
			}
		})
	}
}

func TestAnUpgradeThatIsInterruptedSaysSoAndContinues(t *testing.T) {
	t.Parallel()
	file := goldenFile(t, 2)
	ctx, cancel := context.WithCancel(t.Context())
	var steps []string
	_, err := sqlite.Open(ctx, sqlite.Config{File: file, Logger: silent, OnUpgrade: func(done, all int) {
		steps = append(steps, fmt.Sprint(done, " of ", all))
		if done == 2 {
			cancel()
		}
	}})
	require.ErrorIs(t, err, context.Canceled)
	assert.ErrorContains(t, err, "the upgrade was interrupted: the file has version 4 of "+strconv.Itoa(sqlite.Version)+", and the next start continues")
	s := openWithSegments(t, file, midday, 7)
	require.NoError(t, s.Close())
	assert.Equal(t, []string{"0 of 6", "1 of 6", "2 of 6"}, steps[:3])
}

// Each step is a transaction with the version that it leads to.
func TestAnUpgradeThatIsInterruptedAnywhereSaysWhichVersionTheFileHas(t *testing.T) {
	t.Parallel()
	for done := 1; done < sqlite.Version; done++ {
		file := goldenFile(t, 1)
		ctx, cancel := context.WithCancel(t.Context())
		_, err := sqlite.Open(ctx, sqlite.Config{File: file, Logger: silent, OnUpgrade: func(of, all int) {
			assert.Equal(t, sqlite.Version-1, all)
			if of == done-1 {
				cancel()
			}
		}})
		require.ErrorIs(t, err, context.Canceled)
		assert.ErrorContains(t, err, fmt.Sprintf("the upgrade was interrupted: the file has version %d of %d, and the next start continues", done, sqlite.Version))
		db, err := sql.Open("sqlite", file)
		require.NoError(t, err)
		var version int
		require.NoError(t, db.QueryRowContext(t.Context(), "PRAGMA user_version").Scan(&version))
		require.NoError(t, db.Close())
		assert.Equal(t, done, version)
		useGolden(t, file, sqlite.Version, 0)
	}
}

// Parts are damaged before an upgrade.
func TestAnUpgradeGoesOnAfterDamagedParts(t *testing.T) {
	t.Parallel()
	for version := 2; version <= 5; version++ {
		for _, cut := range []string{"UPDATE rollup SET data = substr(data, 1, length(data) / 2) WHERE part IN (0, 10)", "UPDATE packed SET data = substr(data, 1, length(data) / 2)", "UPDATE packed SET data = x'' WHERE part = 6"} {
			t.Run(fmt.Sprint(version, " ", cut), func(t *testing.T) {
				t.Parallel()
				want := openWithSegments(t, goldenFile(t, version), midday, 7)
				defer func() { require.NoError(t, want.Close()) }()
				file := goldenFile(t, version)
				db, err := sql.Open("sqlite", file)
				require.NoError(t, err)
				_, err = db.ExecContext(t.Context(), cut)
				require.NoError(t, err)
				require.NoError(t, db.Close())
				got, err := sqlite.OpenWithSegments(t.Context(), sqlite.Config{File: file, Now: midday, Logger: silent}, 7)
				require.NoError(t, err)
				defer func() { require.NoError(t, got.Close()) }()
				for range 2 {
					for _, site := range []string{"s", "t"} {
						storetest.Compare(t, want, got, store.Query{Site: site, From: begin, To: end})
					}
					sqlite.Settle(t, got)
				}
				assert.Equal(t, 6, sqlite.Rollups(t, got))
				require.NoError(t, sqlite.Check(t.Context(), file))
			})
		}
	}
}
