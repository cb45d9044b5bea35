//go:build ci

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// tree is a small project that can be released as v0.2.0.
func tree() map[string]string {
	return map[string]string{
		"go.work": "go 1.26\n\nuse (\n\t.\n\t./adapters/gin\n\t./cmd/foot\n\t./service\n\t./examples\n)\n",
		"go.mod":  "module example.com/foot\n\ngo 1.26\n\nrequire github.com/google/uuid v1.6.0\n",
		"adapters/gin/go.mod": "module example.com/foot/adapters/gin\n\ngo 1.26\n\n" +
			"require example.com/foot v0.2.0\n\nreplace example.com/foot => ../..\n",
		"service/go.mod":          "module example.com/foot/service\n\ngo 1.26\n\nrequire example.com/foot v0.2.0\n",
		"service/cmd/serve/go.go": "package main\n",
		"cmd/foot/go.mod":         "module example.com/foot/cmd/foot\n\ngo 1.26\n\nrequire example.com/foot v0.2.0\n",
		"examples/go.mod": "module example.com/foot/examples\n\ngo 1.26\n\nrequire (\n\texample.com/foot v0.2.0\n" +
			"\texample.com/foot/service v0.2.0\n)\n\nreplace (\n\texample.com/foot => ..\n\texample.com/foot/service => ../service\n)\n",
		"CHANGELOG.md": "# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2026-11-22\n\n- New.\n\n## [0.1.0] - 2026-01-02\n\n- Old.\n",
		"Makefile":     "ci:\n\t@echo tested\n\ngorelease:\n\t@mkdir -p .bin && cp report.sh .bin/gorelease\n",
		"report.sh": "#!/bin/sh\ntest ! -e .git && echo $0 $* && cat go.sum\n" +
			"list=${GOPROXY#file://} && sed 's/^/listed /' ${list%%,*}/example.com/foot/adapters/gin/@v/list && exit 0\n",
		".gitignore": "/.bin/\n",
	}
}

// commit makes a git repository of files.
func commit(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		name = filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o755))
	}
	git(t, dir, "init", "--quiet")
	git(t, dir, "config", "user.name", "tester")
	git(t, dir, "config", "user.email", "tester@example.com")
	git(t, dir, "config", "commit.gpgsign", "false")
	git(t, dir, "config", "tag.gpgsign", "false")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "--quiet", "--message", "Begin")
	return dir
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := output(t.Context(), dir, "git", args...)
	require.NoError(t, err)
	return out
}

func tags(t *testing.T, dir string) []string {
	t.Helper()
	return strings.Fields(git(t, dir, "tag", "--list"))
}

func TestReleaseTagsEachPublicModule(t *testing.T) {
	dir := commit(t, tree())
	t.Chdir(filepath.Join(dir, "adapters"))
	var said strings.Builder
	require.NoError(t, run(t.Context(), "v0.2.0", "", false, &said))
	assert.Equal(t, []string{"adapters/gin/v0.2.0", "cmd/foot/v0.2.0", "service/v0.2.0", "v0.2.0"}, tags(t, dir))
	assert.Contains(t, said.String(), "git push --atomic origin v0.2.0 adapters/gin/v0.2.0 cmd/foot/v0.2.0 service/v0.2.0\ngh workflow run release.yml --ref v0.2.0\n")
	assert.ErrorContains(t, run(t.Context(), "v0.2.0", "", true, &said), "tag service/v0.2.0 exists")
}

func TestReleaseRefuses(t *testing.T) {
	for name, row := range map[string]struct {
		version     string
		file        string
		old, change string
		want        string
	}{
		"no version":                    {"0.2.0", "", "", "", "not of the form"},
		"a version without a patch":     {"v0.2", "", "", "", "not of the form"},
		"v0.0.0":                        {"v0.0.0", "", "", "", "cannot be a tag"},
		"a pseudo-version":              {"v0.0.0-00010101000000-000000000000", "", "", "", "cannot be a tag"},
		"a major version without path":  {"v2.0.0", "", "", "", "end in /v2"},
		"a sibling at v0.0.0":           {"", "adapters/gin/go.mod", "foot v0.2.0", "foot v0.0.0", "gin requires example.com/foot v0.0.0 in place of v0.2.0"},
		"a sibling at the last version": {"", "examples/go.mod", "service v0.2.0", "service v0.1.0", "examples requires example.com/foot/service v0.1.0"},
		"an adapter without its folder": {"", "adapters/gin/go.mod", "replace example.com/foot => ../..\n", "", "does not replace example.com/foot"},
		"the wrong folder":              {"", "adapters/gin/go.mod", "=> ../..", "=> ../../service", "does not replace example.com/foot"},
		"a command with a replacement":  {"", "service/go.mod", "require", "replace example.com/foot => ..\n\nrequire", "cannot be installed"},
		"a command that replaces":       {"", "cmd/foot/go.mod", "require", "replace example.com/foot => ../..\n\nrequire", "cannot be installed"},
		"a requirement of an example":   {"", "adapters/gin/go.mod", "require example.com/foot v0.2.0", "require example.com/foot/examples v0.2.0", "which is not released"},
		"unreleased changes":            {"", "CHANGELOG.md", "[Unreleased]\n", "[Unreleased]\n\n- More.\n", "unreleased changes"},
		"a changelog without it":        {"", "CHANGELOG.md", "[0.2.0]", "[0.1.9]", "not ## [0.2.0]"},
		"a section without a date":      {"", "CHANGELOG.md", "[0.2.0] - 2026-11-22", "[0.2.0]", "not ## [0.2.0]"},
		"an empty changelog":            {"", "CHANGELOG.md", "## ", "", "not ## [0.2.0]"},
		"what gorelease refuses":        {"", "report.sh", "exit 0", "exit 3", "gorelease of example.com/foot/adapters/gin: exit status 3"},
		"tests that fail":               {"", "Makefile", "@echo tested", "@exit 3", "make ci"},
		"tests that change the tree":    {"", "Makefile", "@echo tested", "@echo >new", "not committed"},
	} {
		t.Run(name, func(t *testing.T) {
			files := tree()
			if row.file != "" {
				require.Contains(t, files[row.file], row.old)
				files[row.file] = strings.ReplaceAll(files[row.file], row.old, row.change)
			}
			if row.version == "" {
				row.version = "v0.2.0"
			}
			dir := commit(t, files)
			t.Chdir(dir)
			assert.ErrorContains(t, run(t.Context(), row.version, "", false, &strings.Builder{}), row.want)
			assert.Empty(t, tags(t, dir))
		})
	}
}

func TestReleaseRefusesChangesThatAreNotCommitted(t *testing.T) {
	dir := commit(t, tree())
	t.Chdir(dir)
	require.NoError(t, os.WriteFile("notes.txt", nil, 0o600))
	assert.ErrorContains(t, run(t.Context(), "v0.2.0", "", true, &strings.Builder{}), "?? notes.txt")
	assert.Empty(t, tags(t, dir))
}

func TestReleaseReportsEveryProblem(t *testing.T) {
	files := tree()
	files["CHANGELOG.md"] = ""
	files["adapters/gin/go.mod"] = strings.ReplaceAll(files["adapters/gin/go.mod"], "v0.2.0", "v0.0.0")
	t.Chdir(commit(t, files))
	err := run(t.Context(), "v0.2.0", "", true, &strings.Builder{})
	assert.ErrorContains(t, err, "CHANGELOG.md")
	assert.ErrorContains(t, err, "v0.0.0")
}

func TestReleaseLeavesNoTagsIfOneCannotBeMade(t *testing.T) {
	dir := commit(t, tree())
	git(t, dir, "tag", "service") // so service/v0.2.0 cannot be
	t.Chdir(dir)
	require.Error(t, run(t.Context(), "v0.2.0", "", true, &strings.Builder{}))
	assert.Equal(t, []string{"service"}, tags(t, dir))
}

func TestNextSetsTheRequirementsAmongTheModules(t *testing.T) {
	dir := commit(t, tree())
	t.Chdir(dir)
	require.NoError(t, run(t.Context(), "", "v0.3.0", false, &strings.Builder{}))
	r, err := openRepo(dir)
	require.NoError(t, err)
	assert.Equal(t, "v0.3.0", r.required())
	for _, m := range r.modules[1:] {
		text, err := os.ReadFile(r.modFile(m))
		require.NoError(t, err)
		assert.Contains(t, string(text), "example.com/foot v0.3.0\n")
		assert.NotContains(t, string(text), "v0.2.0")
	}
	assert.Equal(t, " M adapters/gin/go.mod\n M cmd/foot/go.mod\n M examples/go.mod\n M service/go.mod\n", git(t, dir, "status", "--porcelain"))
	assert.Error(t, run(t.Context(), "v0.1.0", "v0.3.0", false, &strings.Builder{}))
}

// This tree can be released at any time, after the last steps: changelog and commit.
func TestThisTreeCanBeReleased(t *testing.T) {
	t.Parallel()
	r, err := openRepo(filepath.Join("..", ".."))
	require.NoError(t, err)
	version := r.required()
	require.NoError(t, checkVersion(version))
	for _, m := range r.modules {
		for _, required := range m.file.Require {
			assert.NoError(t, r.checkRequirement(m, required.Mod, version))
		}
		assert.NoError(t, r.checkCommand(m))
	}
	assert.LessOrEqual(t, len(r.public()), 20, "public modules")
	for _, required := range r.modules[0].file.Require {
		if !required.Indirect {
			assert.Contains(t, []string{"github.com/google/uuid", "golang.org/x/sync", "github.com/stretchr/testify"}, required.Mod.Path)
		}
	}
}
