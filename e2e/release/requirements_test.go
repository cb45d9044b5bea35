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
	"golang.org/x/mod/modfile"
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
	assert.Equal(t, 10, adapters)
}

// lowest has the lowest versions that the adapters work with, and the lowest version of testify that the
// root's tests compile with. A higher one in a go.mod would raise the version of an application that has it.
var lowest = map[string]string{
	".":                        "github.com/stretchr/testify v1.8.0",
	"adapters/footfallchi":     "github.com/go-chi/chi/v5 v5.0.11",
	"adapters/footfallconnect": "connectrpc.com/connect v1.11.0",
	"adapters/footfallecho":    "github.com/labstack/echo/v5 v5.0.4",
	"adapters/footfallechov4":  "github.com/labstack/echo/v4 v4.8.0",
	"adapters/footfallfiber":   "github.com/gofiber/fiber/v3 v3.0.0",
	"adapters/footfallfiberv2": "github.com/gofiber/fiber/v2 v2.40.0",
	"adapters/footfallgin":     "github.com/gin-gonic/gin v1.7.0",
	"adapters/footfallgqlgen":  "github.com/99designs/gqlgen v0.17.50",
	"adapters/footfallgrpc":    "google.golang.org/grpc v1.63.0",
	"adapters/footfallmux":     "github.com/gorilla/mux v1.7.4",
}

func TestModulesRaiseNoVersionThatTheyWorkWith(t *testing.T) {
	t.Parallel()
	r, err := openRepo(filepath.Join("..", ".."))
	require.NoError(t, err)
	compared := 0
	for _, m := range r.modules {
		want, ok := lowest[strings.TrimSuffix(m.dir, "/test")]
		if !ok {
			continue
		}
		compared++
		required := slices.ContainsFunc(m.file.Require, func(r *modfile.Require) bool { return r.Mod.String() == strings.Replace(want, " ", "@", 1) })
		assert.True(t, required, "%s does not require %s", m.dir, want)
	}
	assert.Equal(t, 2*len(lowest)-1, compared, "the adapters and their tests, and the root")
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
