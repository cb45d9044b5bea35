package footfallfiberv2_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The README's first Go block is a whole program.
func TestTheProgramOfTheREADMECompiles(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	block := regexp.MustCompile("(?s)```go\n(package main\n.*?)```").FindSubmatch(readme)
	require.NotNil(t, block)
	program := filepath.Join(t.TempDir(), "main.go")
	require.NoError(t, os.WriteFile(program, block[1], 0o600))
	out, err := exec.CommandContext(t.Context(), "go", "vet", program).CombinedOutput()
	require.NoError(t, err, strings.TrimSpace(string(out)))
}
