package footfall_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/footfalltest"
)

// step is a command of the README, or a program for main.go.
type step struct{ command, program string }

// stepsOf returns the commands, which are indented, and the Go blocks of a section in their
// order.
func stepsOf(section string) (steps []step) {
	for i, part := range strings.Split(section, "```") {
		if program, ok := strings.CutPrefix(part, "go\n"); ok && i%2 == 1 {
			steps = append(steps, step{program: program})
			continue
		}
		for line := range strings.Lines(part) {
			if command, ok := strings.CutPrefix(line, "    "); ok {
				steps = append(steps, step{command: strings.TrimSpace(command)})
			}
		}
	}
	return steps
}

// A reader who follows "Use it" of the README in an empty folder sees an event delivered.
func TestStepsOfTheREADMEWorkInAnEmptyFolder(t *testing.T) {
	t.Parallel()
	_, section, found := strings.Cut(readFile(t, "README.md"), "\n## Use it\n")
	require.True(t, found)
	section, _, found = strings.Cut(section, "\n### ")
	require.True(t, found)
	checkout, err := os.Getwd()
	require.NoError(t, err)
	api := footfalltest.NewAPI(t)
	w := walk{dir: t.TempDir(), checkout: checkout, env: []string{
		"GOWORK=off", "GOFLAGS=", // defaults: -mod=mod would add missing requirements
		"FOOTFALL_BASE_URL=" + api.URL, "FOOTFALL_API_KEY=" + footfalltest.Key, "FOOTFALL_SITE_ID=" + footfalltest.SiteID,
	}}
	steps := stepsOf(section)
	require.Greater(t, len(steps), 3)
	said := ""
	for _, s := range steps {
		if s.program != "" {
			require.NoError(t, os.WriteFile(filepath.Join(w.dir, "main.go"), []byte(s.program), 0o600))
			continue
		}
		said = w.run(t, s.command)
	}
	assert.Contains(t, said, "delivered 1, rejected 0, lost 0\n")
	require.Len(t, api.Events(), 1)
	assert.Equal(t, "checkout_completed", api.Events()[0].Name)
}

// walk is the folder and the environment of the reader.
type walk struct {
	dir      string
	checkout string // for ../footfall
	env      []string
}

// run runs one command and returns its output.
func (w walk) run(t *testing.T, command string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	words := strings.Fields(command)
	require.Equal(t, "go", words[0], "a command that the test does not know: %s", command)
	for i := range words {
		words[i] = strings.ReplaceAll(words[i], "../footfall", w.checkout)
	}
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Dir = w.dir
	cmd.Env = append(os.Environ(), w.env...)
	said, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s: %s", command, said)
	return string(said)
}
