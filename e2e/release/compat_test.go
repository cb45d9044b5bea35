//go:build ci

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/mod/zip"
)

func TestGoreleaseComparesWithTheLastTagOfEachModule(t *testing.T) {
	dir := commit(t, tree())
	for _, tag := range []string{"v0.1.0", "v0.0.9", "v0.3.0", "other", "adapters/gin/v0.2.0-rc.1", "adapters/gin/v0.1.0"} {
		git(t, dir, "tag", tag)
	}
	r, err := openRepo(dir)
	require.NoError(t, err)
	var said strings.Builder
	require.NoError(t, r.compare(t.Context(), "v0.2.0", &said))
	report := func(module string) string {
		_, after, found := strings.Cut(said.String(), "== "+module+"\n")
		require.True(t, found, said.String())
		report, _, _ := strings.Cut(after, "\n==")
		return report
	}
	assert.Contains(t, report("example.com/foot"), "gorelease -base=v0.1.0 -version=v0.2.0\n")
	assert.NotContains(t, report("example.com/foot"), "h1:")
	assert.Contains(t, report("example.com/foot/adapters/gin"), "gorelease -base=v0.2.0-rc.1 -version=v0.2.0\n")
	assert.Contains(t, report("example.com/foot/service"), "gorelease -base=none -version=v0.2.0\n")
	assert.Contains(t, report("example.com/foot/adapters/gin"), "listed v0.2.0-rc.1\n")
	assert.NotContains(t, report("example.com/foot/adapters/gin"), "listed v0.2.0\n")
	for _, line := range []string{"example.com/foot v0.2.0 h1:", "example.com/foot v0.2.0/go.mod h1:"} {
		assert.Contains(t, report("example.com/foot/service"), line)
	}
}

// The proxy has what a tag has, and not what the tree has.
func TestTheProxyHasTheFilesOfATag(t *testing.T) {
	dir := commit(t, tree())
	git(t, dir, "tag", "adapters/gin/v0.1.0")
	changed := filepath.Join(dir, "adapters", "gin", "go.mod")
	require.NoError(t, os.WriteFile(changed, []byte("module example.com/foot/adapters/gin\n"), 0o600))
	git(t, dir, "commit", "--quiet", "--all", "--message", "Require nothing")
	r, err := openRepo(dir)
	require.NoError(t, err)
	gin, found := r.sibling("example.com/foot/adapters/gin")
	require.True(t, found)
	proxy := folder(t.TempDir())
	require.NoError(t, proxy.addTree(t.Context(), r, "v0.2.0"))
	require.NoError(t, proxy.addTag(t.Context(), r, gin, "v0.1.0"))
	for version, requires := range map[string]bool{"v0.1.0": true, "v0.2.0": false} {
		to := filepath.Join(t.TempDir(), version)
		require.NoError(t, zip.Unzip(to, gin.at(version), proxy.file(gin.at(version), ".zip")))
		for _, name := range []string{filepath.Join(to, "go.mod"), proxy.file(gin.at(version), ".mod")} {
			text, err := os.ReadFile(name)
			require.NoError(t, err)
			assert.Equal(t, requires, strings.Contains(string(text), "example.com/foot v0.2.0"), name)
		}
	}
	list, err := os.ReadFile(proxy.list(gin.at("v0.1.0")))
	require.NoError(t, err)
	assert.Equal(t, "v0.2.0\nv0.1.0\n", string(list))
}
