package main

import (
	"database/sql"
	"io"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// get returns the status and the text of a page.
func get(t *testing.T, client *http.Client, page string) (int, string) {
	t.Helper()
	response, err := client.Get(page)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(text)
}

// A file has 2^32 texts at most. The ones of this test need no place in it.
func TestHealthIsBadWhileNoNewTextCanBeStored(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	site, key := withSite(t, dir)
	c := start(t, "-listen", "127.0.0.1:0", "-data", dir)
	c.post(t, site, key)
	require.NoError(t, c.stop())
	db, err := sql.Open("sqlite", filepath.Join(dir, "footfall.db"))
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), `INSERT OR IGNORE INTO block WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 0xEFFF) SELECT i, 0 FROM n;
		INSERT INTO text WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 0xFFFF) SELECT (0xEFFF << 16) + i, 'text ' || i FROM n;
		UPDATE counter SET value = 0xEFFF WHERE name = 'block'`)
	require.NoError(t, err)
	require.NoError(t, db.Close())

	c = start(t, "-listen", "127.0.0.1:0", "-data", dir, "-metrics", "127.0.0.1:0")
	defer func() { require.NoError(t, c.stop()) }()
	assert.Equal(t, 202, c.try(t, site, key), "all its texts are there")
	status, _ := get(t, http.DefaultClient, c.url+"/healthz")
	assert.Equal(t, 503, status, "from the start")
	assert.Equal(t, 503, c.tryWith(t, site, key, "new", ""))
	for range 2 {
		assert.Equal(t, 202, c.try(t, site, key))
		status, body := get(t, http.DefaultClient, c.url+"/healthz")
		assert.Equal(t, 503, status)
		assert.Contains(t, body, "the store takes only some events; the log says why")
	}
	assert.Zero(t, valueOf(t, body(t, c.metrics), "footfall_store_free_text_ids"))
}
