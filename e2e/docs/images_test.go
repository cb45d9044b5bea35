package docs

import (
	"io/fs"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// imageContext is the folder that an image is built of.
type imageContext struct {
	dir      string
	patterns []string // of its .dockerignore
}

func contextOf(t *testing.T, dir string) imageContext {
	t.Helper()
	c := imageContext{dir: dir}
	for line := range strings.Lines(readFile(t, path.Join(dir, ".dockerignore"))) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			c.patterns = append(c.patterns, line)
		}
	}
	return c
}

// has reports whether Docker gets a file. The last pattern decides that matches the file or a folder above it.
func (c imageContext) has(file string) bool {
	has := true
	for _, pattern := range c.patterns {
		pattern, back := strings.CutPrefix(pattern, "!")
		matches := regexp.MustCompile("^" + strings.NewReplacer(`\*\*/`, "(.*/)?", `\*`, "[^/]*").Replace(regexp.QuoteMeta(pattern)) + "$")
		for part := file; part != "."; part = path.Dir(part) {
			if matches.MatchString(part) {
				has = back
			}
		}
	}
	return has
}

// sources returns the files of a context that a command is built of.
func (c imageContext) sources(t *testing.T, command string) (files []string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f",
		`{{if not .Standard}}{{$d := .Dir}}{{range .GoFiles}}{{$d}}/{{.}}{{"\n"}}{{end}}{{range .EmbedFiles}}{{$d}}/{{.}}{{"\n"}}{{end}}{{end}}`, command)
	cmd.Dir = c.dir
	out, err := cmd.Output()
	require.NoError(t, err)
	root, err := filepath.Abs(c.dir)
	require.NoError(t, err)
	for line := range strings.Lines(string(out)) {
		file, err := filepath.Rel(root, strings.TrimSpace(line))
		require.NoError(t, err)
		if file = filepath.ToSlash(file); fs.ValidPath(file) { // not one of another module
			files = append(files, file)
		}
	}
	return files
}

// A file with a key beside the sources, or the history, would otherwise be in the layers of the build.
func TestImagesAreBuiltOfTheSourcesAlone(t *testing.T) {
	t.Parallel()
	for dir, command := range map[string]string{".": "./cmd/footfall", "collector": "./cmd/footfall-collector"} {
		c := contextOf(t, dir)
		sources := c.sources(t, command)
		assert.Greater(t, len(sources), 50)
		for _, file := range append(sources, "go.mod", "go.sum") {
			assert.True(t, c.has(file), "%s: the image lacks %s", dir, file)
		}
		for _, file := range []string{
			".git/config", "footfall-relay.env", ".env", "deploy/footfall-collector.env", "cmd/footfall/deploy/relay.env",
			"footfall", "footfall-collector", "data/footfall.db", "footfall-2026-11-25T003012Z.db", "nats.creds", "tls/key.pem",
		} {
			assert.False(t, c.has(file), "%s: the build has %s", dir, file)
		}
	}
	for line := range strings.Lines(readFile(t, "go.work")) {
		if module, found := strings.CutPrefix(strings.TrimSpace(line), "./"); found {
			assert.True(t, contextOf(t, ".").has(module+"/go.mod"), module)
		}
	}
	assert.True(t, contextOf(t, ".").has("go.work"))
}
