package docs

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
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

// fragment surrounds a block of the documents that is not a whole program.
const fragment = `package readme

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
%s)

var (
	_ = bytes.NewReader
	_ = io.EOF
	_ = errors.New
	_ = fmt.Errorf
	_ = log.Printf
	_ = httptest.NewRecorder
	_ = os.ReadFile
	_ = slices.Equal[[]int]
	_ = strings.TrimRight
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
`

// siblings are the modules beside the root that documents of the root use.
var siblings = []string{"lean", "outbox", "spool", "stream"}

// usedBy returns the packages that a block uses.
func usedBy(block string, packages []string) (used []string) {
	for _, name := range packages {
		if strings.Contains(block, name+".") {
			used = append(used, name)
		}
	}
	return used
}

// program makes a block one that compiles.
func program(block string) string {
	var imports strings.Builder
	for _, name := range usedBy(block, append([]string{"transporttest"}, siblings...)) {
		imports.WriteString(fmt.Sprintf("\t%q\n", "github.com/footfall-dev/footfall/"+name))
	}
	if strings.Contains(block, "event.Define") || strings.Contains(block, "event.WriteJSON") { // event may be a variable
		imports.WriteString("\t\"github.com/footfall-dev/footfall/event\"\n")
	}
	head := fmt.Sprintf(fragment, imports.String())
	switch {
	case strings.Contains(block, "\npackage main\n"):
		return block
	case strings.HasPrefix(block, "func "), strings.HasPrefix(block, "type "):
		return head + "\nvar shop http.Handler\n\n" + block
	}
	for _, name := range []string{"handler", "err", "tracker"} {
		if regexp.MustCompile(`(?m)^[^\n=]*\b` + name + `\b[^\n=]*:=`).MatchString(block) {
			block += "\n_ = " + name + "\n"
		}
	}
	return head + fmt.Sprintf(body, block, "return err")
}

// leastBlocks is how many Go blocks a document has at least.
var leastBlocks = map[string]int{
	"README.md": 3, "docs/paths.md": 3, "docs/frameworks.md": 3, "docs/delivery.md": 4, "docs/configuration.md": 3,
	"docs/middleware.md": 2, "docs/transports.md": 3, "docs/testing.md": 1, "docs/adapters.md": 3, "docs/writing-transports.md": 3,
	"docs/serverless.md": 2, "docs/stream.md": 4, "docs/generators.md": 7, "docs/jobs.md": 12,
}

// documents returns README.md and the pages of docs.
func documents(t *testing.T) []string {
	t.Helper()
	pages, err := filepath.Glob("docs/*.md")
	require.NoError(t, err)
	return append(pages, "README.md")
}

// goBlocks returns the blocks of README and docs, without those that examples compile: for
// PocketBase, of docs/generators.md, and parts of examples/jobs.
func goBlocks(t *testing.T) (blocks []string) {
	t.Helper()
	workers := workersOfExamples(t)
	for _, file := range documents(t) {
		found := goBlock.FindAllStringSubmatch(readFile(t, file), -1)
		require.GreaterOrEqual(t, len(found), leastBlocks[file], file)
		if file == "docs/generators.md" {
			continue
		}
		for _, block := range found {
			if file == "docs/jobs.md" && strings.Contains(workers, "\n"+block[1]) {
				continue
			}
			if file != "docs/frameworks.md" || !strings.Contains(block[1], "core.App") && !strings.HasPrefix(block[1], "var rules") {
				blocks = append(blocks, block[1])
			}
		}
	}
	return blocks
}

// workersOfExamples returns the code of examples/jobs, without its tests.
func workersOfExamples(t *testing.T) (code string) {
	t.Helper()
	files, err := filepath.Glob("examples/jobs/*/*.go")
	require.NoError(t, err)
	for _, file := range append(files, "examples/jobs/jobs.go") {
		if !strings.HasSuffix(file, "_test.go") {
			code += readFile(t, file)
		}
	}
	return code
}

// docs/jobs.md shows the code of each worker as it is: a block that differs would not compile by itself.
func TestDocumentsShowEachWorkerOfTheExamples(t *testing.T) {
	t.Parallel()
	blocks := goBlock.FindAllStringSubmatch(readFile(t, "docs/jobs.md"), -1)
	files, err := filepath.Glob("examples/jobs/*/*.go")
	require.NoError(t, err)
	shown := 0
	for _, file := range append(files, "examples/jobs/jobs.go") {
		if strings.HasSuffix(file, "_test.go") || filepath.Base(file) == "doc.go" {
			continue
		}
		shown++
		code := readFile(t, file)
		assert.True(t, slices.ContainsFunc(blocks, func(block []string) bool { return strings.Contains(code, "\n"+block[1]) }), file)
	}
	assert.Equal(t, 6, shown)
}

// writePrograms writes each block to a folder of dir.
func writePrograms(t *testing.T, dir string, blocks []string) {
	t.Helper()
	require.NotEmpty(t, blocks)
	for i, block := range blocks {
		folder := filepath.Join(dir, fmt.Sprintf("block%d", i))
		require.NoError(t, os.Mkdir(folder, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(folder, "main.go"), []byte(program(block)), 0o600))
	}
}

// build compiles all programs of dir.
func build(t *testing.T, dir, workspace string) {
	t.Helper()
	cmd := exec.Command("go", "build", "-o", os.DevNull, "./...")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK="+workspace)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

func TestProgramsOfTheREADMECompile(t *testing.T) {
	t.Parallel()
	root, err := os.Getwd()
	require.NoError(t, err)
	dir := t.TempDir()
	blocks := slices.DeleteFunc(goBlocks(t), func(block string) bool { return len(usedBy(block, siblings)) > 0 })
	writePrograms(t, dir, blocks)
	_, required, _ := strings.Cut(readFile(t, "go.mod"), "\n")
	mod := "module readme\n" + required + "\nrequire github.com/footfall-dev/footfall v0.1.0\n\nreplace github.com/footfall-dev/footfall => " + root + "\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte(mod), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.sum"), []byte(readFile(t, "go.sum")), 0o600))
	build(t, dir, "off")
}

// Programs that use other modules of this repository compile in a workspace with them.
func TestProgramsWithOtherModulesCompile(t *testing.T) {
	t.Parallel()
	root, err := os.Getwd()
	require.NoError(t, err)
	dir := t.TempDir()
	blocks := slices.DeleteFunc(goBlocks(t), func(block string) bool { return len(usedBy(block, siblings)) == 0 })
	writePrograms(t, dir, blocks)
	version := regexp.MustCompile(`(?m)^go .*$`).FindString(readFile(t, "go.work"))
	var work strings.Builder
	work.WriteString(version + "\nuse (\n\t.\n\t" + strconv.Quote(root) + "\n")
	for _, name := range siblings {
		work.WriteString("\t" + strconv.Quote(filepath.Join(root, name)) + "\n")
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.work"), []byte(work.String()+")\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.work.sum"), []byte(readFile(t, "go.work.sum")), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module readme\n\n"+version+"\n"), 0o600))
	build(t, dir, filepath.Join(dir, "go.work"))
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
			if !field.Names[0].IsExported() {
				continue
			}
			docs[field.Names[0].Name] = strings.Join(strings.Fields(field.Doc.Text()), " ")
		}
		return false
	})
	require.NotEmpty(t, docs)
	return docs
}

// The table of docs/configuration.md has every field of Config, and the default that its doc
// comment names, which another test holds against the code.
func TestConfigurationTableOfTheDocumentsIsConfig(t *testing.T) {
	t.Parallel()
	_, table, found := strings.Cut(readFile(t, "docs/configuration.md"), "## Fields of Config")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n## ")
	inTable := make(map[string]string)
	for _, row := range configField.FindAllStringSubmatch(table, -1) {
		inTable[row[1]] = strings.ReplaceAll(row[2], "`", "")
	}
	docs := configDocs(t)
	for field, doc := range docs {
		row, ok := inTable[field]
		assert.True(t, ok, "Config.%s is not in docs/configuration.md", field)
		if m := docDefault.FindStringSubmatch(doc); m != nil && m[1][0] >= '0' && m[1][0] <= '9' {
			assert.Equal(t, m[1], row, "default of Config.%s", field)
		}
	}
	assert.Len(t, inTable, len(docs), "docs/configuration.md has fields that Config lacks")
}
