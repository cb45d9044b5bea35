package docs

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var folderRow = regexp.MustCompile("(?m)^\\| `([a-z0-9/.]+)`( and below)? \\|")

// foldersOfCI returns the folders of the tests that have the build tag ci.
func foldersOfCI(t *testing.T) map[string]bool {
	t.Helper()
	folders := make(map[string]bool)
	require.NoError(t, fs.WalkDir(os.DirFS("."), ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, "_test.go") {
			return err
		}
		if strings.HasPrefix(readFile(t, filepath.FromSlash(name)), "//go:build ci") {
			folders[path.Dir(name)] = true
		}
		return nil
	}))
	return folders
}

// docs/testing.md lists the folders with tests that go test work leaves out.
func TestTestsThatOnlyCIRunsAreListed(t *testing.T) {
	t.Parallel()
	_, table, found := strings.Cut(readFile(t, "docs/testing.md"), "\n## The tests of CI\n")
	require.True(t, found)
	folders := foldersOfCI(t)
	for _, row := range folderRow.FindAllStringSubmatch(table, -1) {
		covers := func(folder string) bool {
			return folder == row[1] || row[2] != "" && strings.HasPrefix(folder, row[1]+"/")
		}
		before := len(folders)
		maps.DeleteFunc(folders, func(folder string, _ bool) bool { return covers(folder) })
		assert.Less(t, len(folders), before, "%s has no test with the tag ci", row[1])
	}
	assert.Empty(t, folders, "docs/testing.md does not list them")
}
