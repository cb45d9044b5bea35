//go:build ci && goreleaser

package main

import (
	"bufio"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Two clones of a tag in different folders lead to the same archives, with commands that run and say the version.
// Nothing is published, and neither syft nor Docker is needed.
func TestGoreleaserMakesTheSameArchivesTwice(t *testing.T) {
	r, err := openRepo(filepath.Join("..", ".."))
	require.NoError(t, err)
	source := t.TempDir()
	copyTree(t, r, source)
	git(t, source, "init", "--quiet")
	git(t, source, "add", ".")
	git(t, source, "-c", "user.name=tester", "-c", "user.email=tester@example.com", "-c", "commit.gpgsign=false", "commit", "--quiet", "--message", "Begin")
	for _, m := range r.public() {
		git(t, source, "-c", "tag.gpgsign=false", "tag", m.tag("v1.2.3"))
	}
	first, second := filepath.Join(t.TempDir(), "one"), filepath.Join(t.TempDir(), "another", "two")
	sums := archives(t, source, first)
	assert.Equal(t, sums, archives(t, source, second))
	assert.Len(t, sums, 2, "an archive of each command")
	for name, want := range sums {
		file := filepath.Join(first, "dist", name)
		got := sum(t, file)
		assert.Equal(t, want, hex.EncodeToString(got[:]), name)
		command, _, _ := strings.Cut(name, "_")
		dir := t.TempDir()
		_, err := output(t.Context(), dir, "tar", "xzf", file)
		require.NoError(t, err)
		assert.FileExists(t, filepath.Join(dir, "LICENSE"))
		units, err := filepath.Glob(filepath.Join(dir, "*.service"))
		require.NoError(t, err)
		assert.NotEmpty(t, units)
		said, err := output(t.Context(), dir, filepath.Join(dir, command), "version")
		require.NoError(t, err)
		assert.Regexp(t, "^"+command+` v1\.2\.3(,|\n)`, said)
	}
}

// archives runs goreleaser in a clone, for this machine alone, and returns the lines of checksums.txt.
func archives(t *testing.T, source, clone string) map[string]string {
	t.Helper()
	git(t, ".", "clone", "--quiet", source, clone)
	binary, err := filepath.Abs(filepath.Join("..", "..", ".bin", "goreleaser"))
	require.NoError(t, err)
	onlyHere(t, filepath.Join(clone, ".goreleaser.yaml"))
	git(t, clone, "update-index", "--assume-unchanged", ".goreleaser.yaml")
	cmd := exec.CommandContext(t.Context(), binary, "release", "--clean", "--skip=publish,sbom,docker,announce")
	cmd.Dir, cmd.Env = clone, append(os.Environ(), "GORELEASER_CURRENT_TAG=v1.2.3", "GITHUB_TOKEN=", "GOFLAGS=")
	said, err := cmd.CombinedOutput()
	require.NoError(t, err, string(said))
	file, err := os.Open(filepath.Join(clone, "dist", "checksums.txt"))
	require.NoError(t, err)
	defer file.Close()
	sums := make(map[string]string)
	for lines := bufio.NewScanner(file); lines.Scan(); {
		hash, name, found := strings.Cut(lines.Text(), "  ")
		require.True(t, found, lines.Text())
		sums[name] = hash
	}
	return sums
}

// onlyHere leaves the target of this machine in a configuration. goreleaser has an option for it, but not with release.
func onlyHere(t *testing.T, name string) {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	before, after, found := strings.Cut(string(text), "targets: &targets [")
	require.True(t, found)
	_, after, _ = strings.Cut(after, "]")
	text = []byte(before + "targets: &targets [" + runtime.GOOS + "_" + runtime.GOARCH + "]" + after)
	require.NoError(t, os.WriteFile(name, text, 0o600))
}
