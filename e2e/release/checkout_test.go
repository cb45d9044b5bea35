//go:build ci

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// CONTRIBUTING.md says how a program uses a checkout.
func TestAProgramUsesACheckout(t *testing.T) {
	t.Parallel()
	r, err := openRepo(filepath.Join("..", ".."))
	require.NoError(t, err)
	_, section, found := strings.Cut(r.read(t, ".", "CONTRIBUTING.md"), "\n## Use a checkout in another program\n")
	require.True(t, found)
	_, command, found := strings.Cut(section, "\n    go ")
	require.True(t, found)
	command, _, _ = strings.Cut(command, "\n")
	checkout, err := filepath.Abs(r.dir)
	require.NoError(t, err)
	args := strings.Fields(command)
	for i := range args {
		args[i] = strings.Replace(args[i], "../footfall", checkout, 1)
	}
	dir := t.TempDir()
	text := block(t, whole, r.read(t, "adapters/footfallgin", "README.md"))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(text), 0o600))
	s := stranger{env: append(os.Environ(), "GOWORK=", "GOFLAGS=")}
	s.run(t, dir, "go", "mod", "init", "example.com/shop")
	s.run(t, dir, "go", args...)
	s.run(t, dir, "go", "build", "-o", os.DevNull, ".")
}
