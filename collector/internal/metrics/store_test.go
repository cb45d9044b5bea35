package metrics

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A report is a method of a store that takes a Query.
func TestEachReportIsMeasured(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "../../store/store.go", nil, 0)
	require.NoError(t, err)
	measured, err := os.ReadFile("store.go")
	require.NoError(t, err)
	reports := 0
	ast.Inspect(file, func(n ast.Node) bool {
		method, ok := n.(*ast.Field)
		if !ok || len(method.Names) != 1 {
			return true
		}
		signature, ok := method.Type.(*ast.FuncType)
		if !ok || len(signature.Params.List) < 2 {
			return true
		}
		if of, ok := signature.Params.List[1].Type.(*ast.Ident); ok && of.Name == "Query" {
			name := method.Names[0].Name
			label := strings.ToLower(name)
			assert.Contains(t, reportNames, label)
			assert.Contains(t, string(measured), "func (t timed) "+name+"(ctx ")
			assert.Contains(t, string(measured), `defer t.took("`+label+`", time.Now())`)
			reports++
		}
		return true
	})
	assert.Len(t, reportNames, reports)
}
