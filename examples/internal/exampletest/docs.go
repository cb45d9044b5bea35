package exampletest

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// DocsShow holds a page of the documentation to showing parts of the program's main.go as they are.
// A part is a declaration, which is named by its beginning, such as "func handle(".
func DocsShow(t *testing.T, page string, parts ...string) {
	t.Helper()
	docs, err := os.ReadFile("../../docs/" + page)
	require.NoError(t, err)
	program, err := os.ReadFile("main.go")
	require.NoError(t, err)
	for _, begin := range parts {
		_, rest, found := strings.Cut(string(program), "\n"+begin)
		require.True(t, found, begin)
		rest, _, found = strings.Cut(rest, "\n}\n")
		require.True(t, found, begin)
		assert.Contains(t, string(docs), "```go\n"+begin+rest+"\n}\n```")
	}
}
