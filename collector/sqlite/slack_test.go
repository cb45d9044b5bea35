package sqlite

import (
	"bytes"
	"database/sql"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// moved writes a file in which SQLite leaves copies of rows that it removed later. Pages of many kinds
// are in it: of three tables, one of them with long rows, of an index, and free ones.
func moved(t *testing.T, seed uint64) (db *sql.DB, file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "moved.db")
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=auto_vacuum(2)&_pragma=secure_delete(1)&_pragma=synchronous(off)")
	require.NoError(t, err)
	db.SetMaxOpenConns(1)
	exec := func(statement string, args ...any) {
		_, err := db.ExecContext(t.Context(), statement, args...)
		require.NoError(t, err)
	}
	exec(`CREATE TABLE row (site INTEGER, at INTEGER, seq INTEGER, value TEXT, PRIMARY KEY (site, at, seq)) WITHOUT ROWID;
		CREATE TABLE text (value TEXT UNIQUE);
		CREATE TABLE long (value BLOB);`)
	random := rand.New(rand.NewPCG(seed, 1))
	exec("BEGIN")
	for i := range 300 {
		exec("INSERT INTO row VALUES (1, ?, ?, ?)", random.IntN(1000), i, "kept"+strings.Repeat("x", random.IntN(30)))
	}
	for i := range 300 {
		exec("INSERT INTO row VALUES (2, ?, ?, ?)", i*60000, i, "?utm_campaign=secret-utm"+strings.Repeat("x", random.IntN(30)))
	}
	exec("COMMIT")
	exec("BEGIN")
	for i := range 1200 {
		exec("INSERT INTO text VALUES (?)", fmt.Sprint(i%7, "-", i, strings.Repeat("t", random.IntN(50))))
		if i%3 == 0 {
			exec("INSERT INTO long VALUES (?)", bytes.Repeat([]byte{byte(i), 1, 2, 5, 10, 13}, random.IntN(3000)))
		}
	}
	exec("DELETE FROM long WHERE rowid % 5 = 0; COMMIT")
	for more := true; more; {
		result, err := db.ExecContext(t.Context(), "DELETE FROM row WHERE (site, at, seq) IN (SELECT site, at, seq FROM row WHERE site = 2 ORDER BY at LIMIT ?)", 1+random.IntN(100))
		require.NoError(t, err)
		removed, err := result.RowsAffected()
		require.NoError(t, err)
		more = removed > 0
	}
	return db, file
}

// content returns all that a file of moved says.
func content(t *testing.T, db *sql.DB) (all string) {
	t.Helper()
	require.NoError(t, db.QueryRowContext(t.Context(), `SELECT (SELECT hex(group_concat(at || '/' || seq || value)) FROM row)
		|| (SELECT hex(group_concat(value)) FROM text NOT INDEXED) || (SELECT group_concat(hex(value)) FROM long)`).Scan(&all))
	var damage string
	require.NoError(t, db.QueryRowContext(t.Context(), "PRAGMA integrity_check").Scan(&damage))
	require.Equal(t, "ok", damage)
	return all
}

func TestBlankedPagesHaveNoCopyOfARemovedRow(t *testing.T) {
	t.Parallel()
	for _, seed := range []uint64{268, 276, 306, 1203, 1243} {
		db, file := moved(t, seed)
		require.True(t, hasSecret(t, file), "seed %d: SQLite left no copy, so nothing is tested", seed)
		before := content(t, db)
		blankAll(t, db)
		assert.Equal(t, before, content(t, db), "seed %d", seed)
		require.NoError(t, db.Close())
		assert.False(t, hasSecret(t, file), "seed %d", seed)
	}
}

func hasSecret(t *testing.T, file string) bool {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	return bytes.Contains(data, []byte("secret"))
}

func TestAPageThatIsDamagedIsNotBlanked(t *testing.T) {
	t.Parallel()
	leaf := func(cells, start uint16, pointers ...uint16) []byte {
		page := bytes.Repeat([]byte{1}, 4096)
		page[0] = 13
		binary.BigEndian.PutUint16(page[3:], cells)
		binary.BigEndian.PutUint16(page[5:], start)
		for i, at := range pointers {
			binary.BigEndian.PutUint16(page[8+2*i:], at)
		}
		return page
	}
	for name, page := range map[string][]byte{
		"more cells than have room":  leaf(2000, 3000),
		"cells begin after the page": leaf(0, 4097),
		"a cell before the cells":    leaf(2, 3000, 3500, 2999),
		"a page of no tree":          append([]byte{3}, leaf(2, 3000, 3500, 3000)[1:]...),
	} {
		before := bytes.Clone(page)
		assert.False(t, blank(page), name)
		assert.Equal(t, before, page, name)
	}
}

// SQLite leaves the ends of the pages of some files to an extension, and then has fewer entries in a page of the pointer map.
func TestAFileWithReservedBytesIsNotBlanked(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "events.db")
	s, err := Open(t.Context(), Config{File: file})
	require.NoError(t, err)
	require.NoError(t, s.Close())
	for _, reserved := range []byte{0, 12} {
		db, err := sql.Open("sqlite", file)
		require.NoError(t, err)
		_, err = db.ExecContext(t.Context(), "UPDATE sqlite_dbpage SET data = CAST(substr(data, 1, 20) || ? || substr(data, 22) AS BLOB) WHERE pgno = 1", []byte{reserved})
		require.NoError(t, err)
		var now space
		tx, err := db.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		now, err = newReading(t.Context(), nil, tx).space()
		require.NoError(t, err)
		assert.Equal(t, reserved == 0, now.canBlank())
		require.NoError(t, tx.Rollback())
		require.NoError(t, db.Close())
	}
}

func TestPagesOfTreesAreBlankedBetweenTheirListAndTheirCells(t *testing.T) {
	t.Parallel()
	for kind, header := range map[byte]int{2: 12, 5: 12, 10: 8, 13: 8} {
		page := bytes.Repeat([]byte{1}, 4096)
		page[0] = kind
		binary.BigEndian.PutUint16(page[3:], 2)
		binary.BigEndian.PutUint16(page[5:], 3000)
		binary.BigEndian.PutUint16(page[header:], 3500)
		binary.BigEndian.PutUint16(page[header+2:], 3000)
		blanked := bytes.Clone(page)
		assert.True(t, blank(blanked), "kind %d", kind)
		clear(page[header+4 : 3000])
		assert.Equal(t, page, blanked, "kind %d", kind)
		assert.False(t, blank(blanked), "kind %d", kind)
	}
	assert.Equal(t, []int64{103, 107}, treesIn([]byte{1, 0, 0, 0, 0, 2, 0, 0, 0, 1, 3, 0, 0, 0, 1, 4, 0, 0, 0, 1, 5, 0, 0, 0, 1, 0}, 103), "a root and another page")
}

func blankAll(t *testing.T, db *sql.DB) {
	t.Helper()
	conn, err := db.Conn(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close()) }()
	c := &connection{conn: conn}
	for group, found := int64(0), true; found; group++ {
		require.NoError(t, c.exec("BEGIN IMMEDIATE"))
		require.NoError(t, c.blank(group, 4096))
		require.NoError(t, c.exec("COMMIT"))
		var slack []slackPage
		slack, found, err = slackOf(t.Context(), conn, group, 4096)
		require.NoError(t, err)
		assert.Empty(t, slack)
	}
}
