package footfall_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(text)
}

var goBlock = regexp.MustCompile("(?s)```go\n(.*?)```")

// fragment completes a README block that is not a whole program.
const fragment = `package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
)

var (
	_ = errors.New
	_ = fmt.Errorf
	_ = log.Printf
	_ = httptest.NewRecorder
	_ = slices.Equal[[]int]
	_ = time.Second
	_ = footfalltest.New
	_ testing.TB
	_ http.Handler
	_ context.Context
	_ footfall.Event
)
`

const body = `
func example(ctx context.Context, tracker *footfall.Tracker, server *http.Server, mux *http.ServeMux, base, key string) (err error) {
	{
%s
	}
	%s
}

func passwordIsRight(*http.Request) bool { return true }

func main() {}
`

// program completes a README block so that it compiles.
func program(block string) string {
	switch {
	case strings.Contains(block, "\npackage main\n"):
		return block
	case strings.HasPrefix(block, "func "), strings.HasPrefix(block, "type "):
		return fragment + "\nvar shop http.Handler\n\n" + block + "\nfunc main() {}\n"
	}
	end := "return err"
	for _, name := range []string{"handler", "err"} {
		if strings.Contains(block, name+" :=") {
			block += "\n_ = " + name + "\n"
		}
	}
	return fragment + fmt.Sprintf(body, block, end)
}

// goBlocks returns the programs of README and docs, except programs that need another module.
func goBlocks(t *testing.T) (blocks []string) {
	t.Helper()
	for file, least := range map[string]int{"README.md": 6, "docs/paths.md": 3, "docs/frameworks.md": 3} {
		found := goBlock.FindAllStringSubmatch(readFile(t, file), -1)
		require.GreaterOrEqual(t, len(found), least, file)
		for _, block := range found {
			if file == "README.md" || !strings.Contains(block[1], "core.App") && !strings.HasPrefix(block[1], "var rules") {
				blocks = append(blocks, block[1])
			}
		}
	}
	return blocks
}

func TestProgramsOfTheREADMECompile(t *testing.T) {
	t.Parallel()
	root, err := os.Getwd()
	require.NoError(t, err)
	dir := t.TempDir()
	for i, block := range goBlocks(t) {
		folder := filepath.Join(dir, fmt.Sprintf("block%d", i))
		require.NoError(t, os.Mkdir(folder, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(folder, "main.go"), []byte(program(block)), 0o600))
	}
	_, required, _ := strings.Cut(readFile(t, "go.mod"), "\n")
	mod := "module readme\n" + required + "\nrequire github.com/footfall-dev/footfall v0.0.0\n\nreplace github.com/footfall-dev/footfall => " + root + "\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte(mod), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.sum"), []byte(readFile(t, "go.sum")), 0o600))
	cmd := exec.Command("go", "build", "-o", os.DevNull, "./...")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

func TestProgramOfTheREADMEIsExamplesBasic(t *testing.T) {
	t.Parallel()
	basic := readFile(t, "examples/basic/main.go")
	assert.Contains(t, readFile(t, "README.md"), "```go\n"+basic+"```")
}

var (
	configField = regexp.MustCompile(`(?m)^\| ` + "`(\\w+)` \\| (.*?) \\|")
	docDefault  = regexp.MustCompile(`Defaults to (.*)\.$`)
)

// configDocs returns the doc comment of each field of Config.
func configDocs(t *testing.T) map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "config.go", nil, parser.ParseComments)
	require.NoError(t, err)
	docs := make(map[string]string)
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok || spec.Name.Name != "Config" {
			return true
		}
		for _, field := range spec.Type.(*ast.StructType).Fields.List {
			docs[field.Names[0].Name] = strings.Join(strings.Fields(field.Doc.Text()), " ")
		}
		return false
	})
	require.NotEmpty(t, docs)
	return docs
}

// The README's table has every field of Config with the default of its doc comment. Another
// test compares the doc comment with the code.
func TestConfigurationTableOfTheREADMEIsConfig(t *testing.T) {
	t.Parallel()
	_, table, found := strings.Cut(readFile(t, "README.md"), "## Configuration")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n## ")
	inTable := make(map[string]string)
	for _, row := range configField.FindAllStringSubmatch(table, -1) {
		inTable[row[1]] = strings.ReplaceAll(row[2], "`", "")
	}
	docs := configDocs(t)
	for field, doc := range docs {
		row, ok := inTable[field]
		assert.True(t, ok, "Config.%s is not in the README", field)
		if m := docDefault.FindStringSubmatch(doc); m != nil && m[1][0] >= '0' && m[1][0] <= '9' {
			assert.Equal(t, m[1], row, "default of Config.%s", field)
		}
	}
	assert.Len(t, inTable, len(docs), "the README has fields that Config lacks")
}
