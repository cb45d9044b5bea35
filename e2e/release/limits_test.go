package main

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The limits of CONTRIBUTING. A function's largest table does not count.
const (
	maxFile     = 500
	maxFunction = 60
	maxGuarded  = 12 // fields that change under one mutex
)

func TestFilesAndFunctionsAreShort(t *testing.T) {
	root := filepath.Join("..", "..")
	files := 0
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && strings.HasPrefix(entry.Name(), ".") && path != root {
			return fs.SkipDir
		}
		if !entry.IsDir() && filepath.Ext(path) == ".go" {
			files++
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.LessOrEqual(t, bytes.Count(text, []byte("\n")), maxFile, path)
			for name, lines := range functionsIn(t, path, text) {
				assert.LessOrEqual(t, lines, maxFunction, "%s: %s", path, name)
			}
			for name, fields := range guardedIn(t, path, text) {
				assert.LessOrEqual(t, fields, maxGuarded, "%s: %s", path, name)
			}
		}
		return nil
	})
	require.NoError(t, err)
	require.Greater(t, files, 500, "the whole tree is read")
}

func TestLinesOfAFunctionAreCountedWithoutItsLargestTable(t *testing.T) {
	const text = "package p\n\nfunc (t T) Long() {\n\ta := []int{\n\t\t1,\n\t\t2,\n\t}\n\tb := []int{\n\t\t1,\n\t}\n\t_, _ = a, b\n}\n"
	assert.Equal(t, map[string]int{"Long": 7}, functionsIn(t, "p.go", []byte(text)))
}

// functionsIn returns the lines of the functions of a file.
func functionsIn(t *testing.T, path string, text []byte) map[string]int {
	t.Helper()
	files, file := parse(t, path, text)
	lines := func(n ast.Node) int { return files.Position(n.End()).Line - files.Position(n.Pos()).Line + 1 }
	found := make(map[string]int)
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		table := 1
		ast.Inspect(f, func(n ast.Node) bool {
			if literal, ok := n.(*ast.CompositeLit); ok {
				table = max(table, lines(literal))
			}
			return true
		})
		found[f.Name.Name] = max(found[f.Name.Name], lines(f)-table+1)
	}
	return found
}

func parse(t *testing.T, path string, text []byte) (*token.FileSet, *ast.File) {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, text, parser.SkipObjectResolution)
	require.NoError(t, err)
	return files, file
}

// guardedIn returns how many fields of each struct follow its mutex, up to the next blank field, which
// is a cache line that another lock guards.
func guardedIn(t *testing.T, path string, text []byte) map[string]int {
	t.Helper()
	_, file := parse(t, path, text)
	found := make(map[string]int)
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		if s, ok := spec.Type.(*ast.StructType); ok {
			found[spec.Name.Name] = guarded(s)
		}
		return true
	})
	return found
}

func guarded(s *ast.StructType) (fields int) {
	locked := false
	for _, f := range s.Fields.List {
		switch {
		case len(f.Names) == 1 && f.Names[0].Name == "_":
			locked = false
		case locked:
			fields += max(1, len(f.Names))
		default:
			of, ok := f.Type.(*ast.SelectorExpr)
			locked = ok && strings.HasSuffix(of.Sel.Name, "Mutex")
		}
	}
	return fields
}

func TestFieldsThatFollowAMutexAreCounted(t *testing.T) {
	const text = "package p\n\ntype T struct {\n\ta int\n\tmu sync.RWMutex\n\tb, c int\n\tD\n\t_ pad\n\te int\n}\n"
	assert.Equal(t, map[string]int{"T": 3}, guardedIn(t, "p.go", []byte(text)))
}
