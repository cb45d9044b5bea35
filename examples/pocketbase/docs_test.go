package main

import (
	"testing"

	"github.com/footfall-dev/footfall/examples/internal/exampletest"
)

func TestDocsShowThisProgram(t *testing.T) {
	t.Parallel()
	exampletest.DocsShow(t, "frameworks.md", "var rules = ", "func count(")
}
