package sqlite_test

import (
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
