package docs

import (
	"go/ast"
	"go/doc"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var bracketed = regexp.MustCompile(`\[\*?[A-Z]\w*(\.\w+)*\]`)

// Each [Name] of the package documentation is a link to a name that exists.
func TestLinksOfThePackageDocumentationReachSomething(t *testing.T) {
	t.Parallel()
	fset := token.NewFileSet()
	names, err := filepath.Glob("*.go")
	require.NoError(t, err)
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, name, nil, parser.ParseComments)
		require.NoError(t, err)
		files = append(files, f)
	}
	p, err := doc.NewFromFiles(fset, files, "github.com/footfall-dev/footfall")
	require.NoError(t, err)
	links := 0
	for _, block := range p.Parser().Parse(p.Doc).Content {
		paragraph, ok := block.(*comment.Paragraph)
		if !ok {
			continue
		}
		for _, text := range paragraph.Text {
			switch text := text.(type) {
			case *comment.DocLink:
				links++
			case comment.Plain:
				assert.Empty(t, bracketed.FindAllString(string(text), -1), "no such name")
			}
		}
	}
	assert.Greater(t, links, 30)
}
