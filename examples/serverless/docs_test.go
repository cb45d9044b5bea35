package main

import (
	"testing"

	"github.com/footfall-dev/footfall/examples/internal/exampletest"
)

func TestDocumentationShowsHandle(t *testing.T) {
	t.Parallel()
	exampletest.DocsShow(t, "serverless.md", "func handle(")
}
