package sqlite_test

import (
	"database/sql"
	_ "embed"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/sqlite"
	"github.com/footfall-dev/footfall/collector/store"
	"github.com/footfall-dev/footfall/collector/store/storetest"
)

// version1 creates a file as the first version of the schema left it: sixty events of three
// days, with rollups.
//
//go:embed testdata/version1.sql
var version1 string

func TestAFileOfTheFirstVersionIsMigratedWithItsEvents(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "events.db")
	db, err := sql.Open("sqlite", file)
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), version1)
	require.NoError(t, err)
	var events int
	require.NoError(t, db.QueryRowContext(t.Context(), "SELECT count(*) FROM event").Scan(&events))
	require.Equal(t, 60, events)
	require.NoError(t, db.Close())

	for range 2 { // the second time without a migration
		useVersion1(t, file, events)
	}
}

func useVersion1(t *testing.T, file string, events int) {
	t.Helper()
	s := openWithSegments(t, file, midday, 7)
	defer func() { require.NoError(t, s.Close()) }()
	assert.Equal(t, 3, sqlite.Scalar[int](t, s, "SELECT user_version FROM pragma_user_version"))
	ref, known := storetest.NewReference(), 0
	for _, site := range []string{"s", "t"} {
		q := store.Query{Site: site, From: begin, To: end}
		require.NoError(t, s.Export(t.Context(), q, func(e store.Event) error {
			known++
			return ref.Add(t.Context(), e)
		}))
	}
	assert.Equal(t, events, known)
	q := store.Query{Site: "s", From: begin, To: end}
	storetest.Compare(t, ref, s, q)
	sqlite.Settle(t, s)
	assert.Equal(t, 6, sqlite.Rollups(t, s), "three days of two sites")
	storetest.Compare(t, ref, s, q)
	records, err := s.Records(t.Context(), "site")
	require.NoError(t, err)
	assert.Equal(t, []store.Record{{ID: "s", Data: []byte(`{"name":"Shop"}`)}}, records)
}
