package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// docs/frameworks.md shows count and rules.
func TestDocsShowThisProgram(t *testing.T) {
	t.Parallel()
	docs, err := os.ReadFile("../../docs/frameworks.md")
	require.NoError(t, err)
	program, err := os.ReadFile("main.go")
	require.NoError(t, err)
	for _, begin := range []string{"var rules = ", "func count("} {
		_, part, found := strings.Cut(string(program), "\n"+begin)
		require.True(t, found)
		part, _, _ = strings.Cut(part, "\n}\n")
		assert.Contains(t, string(docs), "```go\n"+begin+part+"\n}\n```")
	}
}
