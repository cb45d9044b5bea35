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

// readmeNamesVersions checks that the README names the version in go.mod of the adapter and of its
// tests, which make lowest runs, and the version in the examples' go.mod, which go test work tests.
func readmeNamesVersions(t *testing.T, adapter string, readme []byte) {
	t.Helper()
	said := version.FindSubmatch(readme)
	require.NotNil(t, said, "README.md does not say with which versions the adapter works")
	module, lowest, newest := string(said[1]), string(said[2]), string(said[3])
	for file, version := range map[string]string{
		filepath.Join(adapter, "go.mod"): lowest, "go.mod": lowest,
		filepath.Join(adapter, "..", "..", "examples", "go.mod"): newest,
	} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Contains(t, string(text), "\t"+module+" "+version+"\n", file)
	}
}

// ReadmeCompiles checks that the first Go block of README.md in the folder of an adapter is a
// whole program that compiles with the requirements of the adapter's tests, in whose folder it runs,
// and that README.md names the framework's versions.
func ReadmeCompiles(t *testing.T, adapter string) {
	t.Helper()
	readme, err := os.ReadFile(filepath.Join(adapter, "README.md"))
	require.NoError(t, err)
	readmeNamesVersions(t, adapter, readme)
	block := regexp.MustCompile("(?s)```go\n(package main\n.*?)```").FindSubmatch(readme)
	require.NotNil(t, block, "README.md has no program")
	program := filepath.Join(t.TempDir(), "main.go")
	require.NoError(t, os.WriteFile(program, block[1], 0o600))
	cmd := exec.CommandContext(t.Context(), "go", "vet", program)
	cmd.Env = append(os.Environ(), "GOWORK=off")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
}
