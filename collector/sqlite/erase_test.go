package sqlite_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/sqlite"
	"github.com/footfall-dev/footfall/collector/store"
)

// A day's salt is a record: once removed, no file may contain it.
func TestARemovedRecordIsErasedFromTheFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "footfall.db")
	st, err := sqlite.Open(t.Context(), sqlite.Config{File: file})
	require.NoError(t, err)
	secret := []byte("the key of a day that is over, which nobody may find")
	require.NoError(t, st.Put(t.Context(), "salt", store.Record{ID: "today", Data: secret}))
	require.NoError(t, st.Remove(t.Context(), "salt", "today"))
	require.NoError(t, st.Close())
	for _, end := range []string{"", "-wal"} {
		left, err := os.ReadFile(file + end)
		if os.IsNotExist(err) {
			continue
		}
		require.NoError(t, err)
		assert.False(t, bytes.Contains(left, secret), file+end)
	}
}
