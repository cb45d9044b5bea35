package sqlite

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/store"
	"github.com/footfall-dev/footfall/collector/store/storetest"
)

func TestAURLIsPutTogetherFromItsParts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, url, path, origin, rest string }{
		{"with a query", "https://s.example/a?b=/a", "/a", "https://s.example", "?b=/a"},
		{"with nothing after the path", "http://s:80/a/b", "/a/b", "http://s:80", ""},
		{"with a slash more than the path", "https://s.example/a/", "/a", "https://s.example", "/"},
		{"with a path that is escaped", "https://s.example/a%20b", "/a b", "", "https://s.example/a%20b"},
		{"without a path", "https://s.example", "/", "", "https://s.example"},
		{"with a path in its query only", "https://s.example?/a", "/a", "https://s.example?", ""},
		{"that is none", "mailto:x", "/", "", "mailto:x"},
		{"that is empty", "", "/", "", ""},
		{"of an event without a path", "https://s.example/", "", "", "https://s.example/"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			origin, rest := splitURL(c.url, c.path)
			assert.Equal(t, c.origin, origin)
			assert.Equal(t, c.rest, rest)
			if origin != "" {
				assert.Equal(t, c.url, origin+c.path+rest)
			}
		})
	}
}

func TestScrubLeavesNothingOfWhatWasRemoved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := Open(t.Context(), Config{File: filepath.Join(dir, "footfall.db")})
	require.NoError(t, err)
	defer s.Close()
	defer HoldCompactor(t, s)() // a reader keeps the log
	defer HoldSweeper(t, s)()
	const secret = "0123456789-a-secret-of-one-day-0"
	inFiles := func() (found bool) {
		files, err := filepath.Glob(filepath.Join(dir, "*"))
		require.NoError(t, err)
		for _, f := range files {
			data, err := os.ReadFile(f)
			require.NoError(t, err)
			found = found || strings.Contains(string(data), secret)
		}
		return found
	}
	require.NoError(t, s.Put(t.Context(), "salt", store.Record{ID: "a", Data: []byte(secret)}))
	require.NoError(t, s.Scrub(t.Context()))
	require.True(t, inFiles(), "existing data stays")
	require.NoError(t, s.Remove(t.Context(), "salt", "a"))
	require.True(t, inFiles(), "else there is nothing to scrub")

	rows, err := s.reader.db.QueryContext(t.Context(), "SELECT id FROM text UNION SELECT 1")
	require.NoError(t, err)
	require.True(t, rows.Next())
	began := time.Now()
	assert.ErrorIs(t, s.Scrub(t.Context()), errBusy)
	assert.Less(t, time.Since(began), time.Second, "it does not wait: writing would, too")
	require.NoError(t, rows.Close())

	require.NoError(t, s.Scrub(t.Context()))
	assert.False(t, inFiles())
	storetest.Add(t, s, store.Event{Site: "s", At: time.Now(), URL: "https://a.example/", Path: "/"})
}
