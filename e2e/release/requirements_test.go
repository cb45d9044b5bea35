package main

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A user of an adapter gets the root, the framework and what they need. The conformance suite and the
// libraries of its tests are requirements of the module test in the adapter's folder.
func TestAdaptersRequireOnlyWhatTheirPackagesImport(t *testing.T) {
	t.Parallel()
	r, err := openRepo(filepath.Join("..", ".."))
	require.NoError(t, err)
	adapters := 0
	for _, m := range r.public() {
		if !strings.HasPrefix(m.dir, "adapters/footfall") {
			continue
		}
		adapters++
		imported := importsOf(t, filepath.Join(r.dir, filepath.FromSlash(m.dir)))
		for _, required := range m.file.Require {
			path := required.Mod.Path
			_, sibling := r.sibling(path)
			assert.False(t, sibling && path != r.modules[0].path(), "%s requires %s", m.dir, path)
			assert.NotContains(t, path, "testify", m.dir)
			within := func(name string) bool { return name == path || strings.HasPrefix(name, path+"/") }
			assert.True(t, required.Indirect || slices.ContainsFunc(imported, within), "%s requires %s, which it does not import", m.dir, path)
		}
	}
	assert.Equal(t, 9, adapters)
}

// importsOf returns the imports of all Go files of a folder, which go mod tidy of a user reads, too.
func importsOf(t *testing.T, dir string) (paths []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		require.NoError(t, err)
		for _, spec := range file.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			require.NoError(t, err)
			paths = append(paths, path)
		}
	}
	return paths
}
