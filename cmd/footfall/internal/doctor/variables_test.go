package doctor

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// readByCode returns the variables whose names are strings in the project's code, except tests and
// benchmarks, sorted.
func readByCode(t *testing.T) (names []string) {
	t.Helper()
	name := regexp.MustCompile(`"(FOOTFALL_[A-Z_]+)"`)
	for _, folder := range []string{"", "adapters", "cmd", "collector", "examples", "internal", "lean", "otelfootfall", "spool", "stream"} {
		root := filepath.Join("../../../..", folder)
		require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && folder == "" && path != root:
				return fs.SkipDir
			case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || d.Name() == "variables.go":
				return nil
			}
			text, err := os.ReadFile(path)
			for _, found := range name.FindAllSubmatch(text, -1) {
				if !strings.HasPrefix(string(found[1]), "FOOTFALL_TEST_") {
					names = append(names, string(found[1]))
				}
			}
			return err
		}))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func TestVariablesAreThoseThatTheCodeReads(t *testing.T) {
	t.Parallel()
	assert.Equal(t, readByCode(t), slices.Sorted(slices.Values(variables)))
}

func TestUnknownVariablesHaveTheNearestName(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []string{"FOOTFALL_APIKEY", "FOOTFALL_SITE"},
		unknown([]string{"PATH=/bin", "FOOTFALL_SITE=s", "FOOTFALL_RETENTION=90d", "FOOTFALL_SITE_ID=", "FOOTFALL_APIKEY=secret", "MY_FOOTFALL_X=1"}))
	for name, want := range map[string]string{
		"FOOTFALL_APIKEY": "FOOTFALL_API_KEY", "FOOTFALL_SITE": "FOOTFALL_SITE_ID", "FOOTFALL_URL": "FOOTFALL_BASE_URL",
		"FOOTFALL_NATS": "FOOTFALL_NATS_CA", "FOOTFALL_TRUSTED_PROXY": "FOOTFALL_TRUSTED_PROXIES", "FOOTFALL_RETENTON": "FOOTFALL_RETENTION",
	} {
		assert.Equal(t, want, nearest(name), name)
	}
}

func TestDistance(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"", "ab", 2}, {"kitten", "sitting", 5}, {"API_KEY", "APIKEY", 1}, {"flaw", "lawn", 2}} {
		assert.Equal(t, row.want, distance(row.a, row.b), "%q %q", row.a, row.b)
		assert.Equal(t, row.want, distance(row.b, row.a), "%q %q", row.b, row.a)
	}
}
