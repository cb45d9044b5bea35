package main

import (
	"testing"

	"github.com/footfall-dev/footfall/adapters/adaptertest/exampletest"
)

func TestDocumentationShowsHandle(t *testing.T) {
	t.Parallel()
	exampletest.DocsShow(t, "serverless.md", "func handle(")
}
