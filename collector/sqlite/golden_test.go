package sqlite_test

import (
	"database/sql"
	"embed"
	"flag"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/sqlite"
)

// golden has a file of every version of the format, as statements that create it. Each has sixty
// events of three days and two sites, as that version's program left them, with what it computed
// from them.
//
//go:embed testdata/version*.sql
var golden embed.FS

// newGolden has TestGolden write the golden file of the current version. A file that was
// released never changes.
var newGolden = flag.Bool("golden", false, "write testdata/version*.sql of the current version")

func goldenName(version int) string { return fmt.Sprintf("testdata/version%d.sql", version) }

// goldenFile creates a file from a golden one.
func goldenFile(t *testing.T, version int) string {
	t.Helper()
	statements, err := golden.ReadFile(goldenName(version))
	require.NoError(t, err, "write it with go test -run TestGolden -golden")
	file := filepath.Join(t.TempDir(), "events.db")
	db, err := sql.Open("sqlite", file)
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), string(statements))
	require.NoError(t, err)
	require.NoError(t, db.Close())
	return file
}

func TestGoldenFilesEndWithTheCurrentVersion(t *testing.T) {
	t.Parallel()
	file := goldenFile(t, 1)
	s := openWithSegments(t, file, midday, 7)
	sqlite.Settle(t, s)
	version := sqlite.Scalar[int](t, s, "SELECT user_version FROM pragma_user_version")
	require.NoError(t, s.Close())
	if *newGolden {
		require.NoError(t, os.WriteFile(filepath.FromSlash(goldenName(version)), []byte(dump(t, file)), 0o600))
		return
	}
	files, err := golden.ReadDir("testdata")
	require.NoError(t, err)
	require.Len(t, files, version, "a file of every version: write it with go test -run TestGolden -golden")
	for i := range files {
		_, err := golden.Open(path.Clean(goldenName(i + 1)))
		require.NoError(t, err)
	}
}

// dump returns statements that create a copy of the file.
func dump(t *testing.T, file string) string {
	t.Helper()
	db, err := sql.Open("sqlite", file)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	var application, version int
	require.NoError(t, db.QueryRowContext(t.Context(), "SELECT application_id, user_version FROM pragma_application_id, pragma_user_version").Scan(&application, &version))
	out := &strings.Builder{}
	_, _ = fmt.Fprintf(out, "PRAGMA application_id=%d;\nPRAGMA user_version=%d;\n", application, version)
	for _, line := range column(t, db, "SELECT sql || ';' FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'") {
		_, _ = fmt.Fprintln(out, line)
	}
	for _, table := range column(t, db, "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'") {
		var values []string
		for _, name := range column(t, db, "SELECT name FROM pragma_table_info('"+table+"')") {
			values = append(values, fmt.Sprintf("CASE typeof(%[1]s) WHEN 'text' THEN 'CAST(X''' || hex(%[1]s) || ''' AS TEXT)' ELSE quote(%[1]s) END", name))
		}
		query := fmt.Sprintf("SELECT 'INSERT INTO %s VALUES (' || %s || ');' FROM %[1]s", table, strings.Join(values, " || ',' || "))
		for _, line := range column(t, db, query) {
			_, _ = fmt.Fprintln(out, line)
		}
	}
	return out.String()
}

func column(t *testing.T, db *sql.DB, query string) (all []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	require.NoError(t, err)
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var value string
		require.NoError(t, rows.Scan(&value))
		all = append(all, value)
	}
	require.NoError(t, rows.Err())
	return all
}
