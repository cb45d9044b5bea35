//go:build ci

package docs

import (
	"context"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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
	api := footfalltest.NewAPI(t)
	w := newWalk(t, "FOOTFALL_BASE_URL="+api.URL, "FOOTFALL_API_KEY="+footfalltest.Key, "FOOTFALL_SITE_ID="+footfalltest.SiteID)
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

var adapterLink = regexp.MustCompile(`\]\(adapters/(\w+)\)`)

// A reader who follows "With another router" of the README, with the program of an adapter's README,
// gets a program that builds. The reader does nothing that the README does not print.
func TestStepsOfTheREADMEWorkWithAnAdapter(t *testing.T) {
	t.Parallel()
	readme := readFile(t, "README.md")
	_, section, found := strings.Cut(readme, "\n### With another router\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	_, use, found := strings.Cut(readme, "\n## Use it\n")
	require.True(t, found)
	use, _, _ = strings.Cut(use, "```go")
	steps := append(stepsOf(use), stepsOf(section)...)
	require.Greater(t, len(steps), 3)
	adapters := make(map[string]bool)
	for _, link := range adapterLink.FindAllStringSubmatch(section, -1) {
		adapters[link[1]] = true
	}
	require.Len(t, adapters, 10)
	for adapter := range adapters {
		t.Run(adapter, func(t *testing.T) {
			t.Parallel()
			w := newWalk(t, "GOSUMDB=off", "GOPROXY="+cacheFirst(t))
			program := goBlock.FindStringSubmatch(readFile(t, "adapters/"+adapter+"/README.md"))
			require.NotNil(t, program)
			require.NoError(t, os.WriteFile(filepath.Join(w.dir, "main.go"), []byte(program[1]), 0o600))
			for _, s := range steps {
				w.run(t, strings.ReplaceAll(s.command, "footfallchi", adapter))
			}
			w.run(t, "go build -o "+os.DevNull+" .")
		})
	}
}

// cacheFirst is a GOPROXY that looks into the module cache before the network.
func cacheFirst(t *testing.T) string {
	t.Helper()
	said, err := exec.CommandContext(t.Context(), "go", "env", "GOMODCACHE", "GOPROXY").Output()
	require.NoError(t, err)
	cache, proxies, found := strings.Cut(strings.TrimSpace(string(said)), "\n")
	require.True(t, found)
	files := url.URL{Scheme: "file", Path: "/" + strings.TrimPrefix(filepath.ToSlash(cache), "/") + "/cache/download"}
	return files.String() + "," + proxies
}

// walk is the folder and the environment of the reader.
type walk struct {
	dir      string
	checkout string // for ../footfall
	env      []string
}

// newWalk returns an empty folder, with more variables of the environment.
func newWalk(t *testing.T, env ...string) walk {
	t.Helper()
	checkout, err := os.Getwd()
	require.NoError(t, err)
	// -mod=mod would add missing requirements
	return walk{dir: t.TempDir(), checkout: checkout, env: append(env, "GOWORK=off", "GOFLAGS=")}
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
