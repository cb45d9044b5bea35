package adaptertest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// version matches the versions of the framework in a README.
var version = regexp.MustCompile("It works with `(.+)` (v[0-9.]+[0-9]) to (v[0-9.]+[0-9]);")

// readmeNamesVersions checks that the README names the version in go.mod, which make
// lowest tests, and the version in the examples' go.mod, which go test work tests.
func readmeNamesVersions(t *testing.T, readme []byte) {
	t.Helper()
	said := version.FindSubmatch(readme)
	require.NotNil(t, said, "README.md does not say with which versions the adapter works")
	module, lowest, newest := string(said[1]), string(said[2]), string(said[3])
	own, err := os.ReadFile("go.mod")
	require.NoError(t, err)
	assert.Contains(t, string(own), "\t"+module+" "+lowest+"\n")
	examples, err := os.ReadFile("../../examples/go.mod")
	require.NoError(t, err)
	assert.Contains(t, string(examples), "\t"+module+" "+newest+"\n")
}

// ReadmeCompiles checks that the first Go block of README.md is a whole program that
// compiles with the adapter's module alone, and that README.md names the framework's versions.
func ReadmeCompiles(t *testing.T) {
	t.Helper()
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	readmeNamesVersions(t, readme)
	block := regexp.MustCompile("(?s)```go\n(package main\n.*?)```").FindSubmatch(readme)
	require.NotNil(t, block, "README.md has no program")
	program := filepath.Join(t.TempDir(), "main.go")
	require.NoError(t, os.WriteFile(program, block[1], 0o600))
	cmd := exec.CommandContext(t.Context(), "go", "vet", program)
	cmd.Env = append(os.Environ(), "GOWORK=off")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
}
