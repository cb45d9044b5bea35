package main

import (
	"testing"

	"github.com/footfall-dev/footfall/adapters/adaptertest/exampletest"
)

func TestDocsShowThisProgram(t *testing.T) {
	t.Parallel()
	exampletest.DocsShow(t, "frameworks.md", "var rules = ", "func count(")
}
