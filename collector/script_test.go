package collector

import (
	"flag"
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/tdewolff/minify/v2"
	"github.com/tdewolff/minify/v2/js"
)

var update = flag.Bool("update", false, "write assets/t.js")

func TestScriptIsMadeOfItsSource(t *testing.T) {
	source, err := os.ReadFile("assets/t.src.js")
	require.NoError(t, err)
	m := minify.New()
	m.AddFunc("text/javascript", js.Minify)
	small, err := m.Bytes("text/javascript", source)
	require.NoError(t, err)
	if *update {
		require.NoError(t, os.WriteFile("assets/t.js", small, 0o644))
		return
	}
	assert.Equal(t, string(small), string(script), "run: go test -run TestScriptIsMadeOfItsSource -update")
}

func TestScriptIsAtMost1024Bytes(t *testing.T) {
	t.Parallel()
	assert.LessOrEqual(t, len(script), 1024)
}

func TestScriptSetsNoCookieAndStoresNothing(t *testing.T) {
	t.Parallel()
	assert.NotRegexp(t, regexp.MustCompile(`(?i)cookie|storage|indexedDB|caches|fingerprint|canvas`), string(script))
}
