package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// docs/serverless.md shows handle.
func TestDocumentationShowsHandle(t *testing.T) {
	t.Parallel()
	program, err := os.ReadFile("main.go")
	require.NoError(t, err)
	page, err := os.ReadFile("../../docs/serverless.md")
	require.NoError(t, err)
	_, handle, found := strings.Cut(string(program), "\nfunc handle(")
	require.True(t, found)
	require.Contains(t, string(page), "```go\nfunc handle("+handle+"```")
}
