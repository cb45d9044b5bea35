//go:build ci

package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/mod/module"
)

// Users can compare a release with a build of its tag: a build depends neither on the folder, the time, the user and
// GOFLAGS nor on what git knows.
func TestTwoBuildsOfACommandAreEqual(t *testing.T) {
	t.Parallel()
	r, err := openRepo(filepath.Join("..", ".."))
	require.NoError(t, err)
	first, second := t.TempDir(), filepath.Join(t.TempDir(), "another", "folder")
	for _, dir := range []string{first, second} {
		copyTree(t, r, dir)
	}
	git(t, first, "init", "--quiet")
	git(t, first, "add", ".")
	git(t, first, "-c", "user.name=tester", "-c", "user.email=tester@example.com", "-c", "commit.gpgsign=false", "commit", "--quiet", "--message", "Begin")
	git(t, first, "-c", "tag.gpgsign=false", "tag", "v1.2.3")
	c := readConfig(t)
	for i, build := range c.Builds {
		t.Run(build.Binary, func(t *testing.T) {
			line := buildLine(t, c.Dockers[i].Dockerfile)
			env := append(build.Env[:len(build.Env):len(build.Env)], "VERSION=v1.2.3", "GOFLAGS=-buildvcs=auto")
			one := compile(t, line, filepath.Join(first, build.Dir), env...)
			two := compile(t, line, filepath.Join(second, build.Dir), append(env, "TZ=Asia/Tokyo", "USER=another")...)
			assert.Equal(t, sum(t, one), sum(t, two), "%s differs from %s", one, two)
			out, err := exec.CommandContext(t.Context(), one, "version").Output()
			require.NoError(t, err)
			assert.Regexp(t, "^"+build.Binary+` v1\.2\.3(,|\n)`, string(out))
			checkRequirements(t, r, one)
		})
	}
}

func copyTree(t *testing.T, r *repo, dir string) {
	t.Helper()
	names, err := r.files(t.Context())
	require.NoError(t, err)
	for _, name := range names {
		from, to := filepath.Join(r.dir, filepath.FromSlash(name)), filepath.Join(dir, filepath.FromSlash(name))
		text, err := os.ReadFile(from)
		require.NoError(t, err)
		require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o755))
		require.NoError(t, os.WriteFile(to, text, 0o644))
	}
}

// compile runs the line of a Dockerfile in dir and returns the command that it builds.
func compile(t *testing.T, line, dir string, env ...string) string {
	t.Helper()
	out := regexp.MustCompile(` -o /(\S+) `).FindStringSubmatch(line)
	require.NotNil(t, out, line)
	binary := filepath.Join(t.TempDir(), out[1])
	cmd := exec.CommandContext(t.Context(), "sh", "-c", strings.Replace(line, " -o /"+out[1]+" ", " -o "+binary+" ", 1))
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	said, err := cmd.CombinedOutput()
	require.NoError(t, err, string(said))
	return binary
}

func sum(t *testing.T, name string) [sha256.Size]byte {
	t.Helper()
	file, err := os.Open(name)
	require.NoError(t, err)
	defer file.Close()
	hash := sha256.New()
	_, err = io.Copy(hash, file)
	require.NoError(t, err)
	return [sha256.Size]byte(hash.Sum(nil))
}

// checkRequirements asserts that a command has the versions of its go.mod, because with them its module's users build it.
// go.work has the highest version that any module requires.
func checkRequirements(t *testing.T, r *repo, binary string) {
	t.Helper()
	built, err := buildinfo.ReadFile(binary)
	require.NoError(t, err)
	m, ok := r.sibling(built.Main.Path)
	require.True(t, ok, built.Main.Path)
	required := make(map[string]module.Version)
	for _, line := range m.file.Require {
		required[line.Mod.Path] = line.Mod
	}
	assert.NotEmpty(t, built.Deps)
	for _, dep := range built.Deps {
		if _, sibling := r.sibling(dep.Path); !sibling {
			assert.Equal(t, required[dep.Path], module.Version{Path: dep.Path, Version: dep.Version})
		}
	}
}
