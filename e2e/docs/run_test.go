package docs

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Each document that introduces Run says what it returns after a success.
func TestDocumentsSayThatRunReturnsNilAfterASuccess(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"README.md", "docs/delivery.md"} {
		_, text, found := strings.Cut(readFile(t, name), "\n`Run` serves until ")
		require.True(t, found, name)
		text, _, _ = strings.Cut(text, "\n\n")
		assert.Contains(t, text, "returns nil", name)
		assert.NotContains(t, text, "account", name)
	}
}
