//go:build ci

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheFolderAPIHasTheExportedAPIOfEachPublicModule(t *testing.T) {
	t.Parallel()
	r, err := openRepo(filepath.Join("..", ".."))
	require.NoError(t, err)
	apis, err := r.apis(t.Context())
	require.NoError(t, err)
	assert.Len(t, apis, len(r.public())-1, "all public modules have packages, except cmd/footfall")
	recorded, err := filepath.Glob(filepath.Join(r.dir, "api", "*.txt"))
	require.NoError(t, err)
	assert.Len(t, recorded, len(apis))
	for name, now := range apis {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		assert.True(t, string(text) == now, "%s: the exported API changed: run make api, and look at the difference", name)
	}
}
