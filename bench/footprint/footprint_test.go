//go:build ci

package footprint

import (
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/bench/report"
)

func TestAProgramWithAnSDKIsComparedWithOneWithout(t *testing.T) {
	s, err := runAll(t.Context(), report.Options{Rounds: 1, Log: t.Logf}, candidates[:2], 2, 1)
	require.NoError(t, err)
	require.Equal(t, "H", s.ID)
	rows := s.Tables[0].Rows
	require.Len(t, rows, 2)
	bare, ours := rows[0], rows[1]
	require.Len(t, ours, len(s.Tables[0].Columns))
	require.Greater(t, ours[1], bare[1], "bytes")
	require.Greater(t, ours[2], 50.0, "KiB that it grew")
	require.Less(t, ours[3], ours[1], "stripped")
	require.Equal(t, []any{0, 0}, bare[5:7], "modules")
	require.Greater(t, ours[5], ours[6], "go.sum includes the modules of tests")
	require.Positive(t, bare[7], "start")
	require.Equal(t, bare[9].(int)+1, ours[9], "a tracker that has nothing to do has one goroutine")
	require.Positive(t, bare[10], "RSS")
	for _, cell := range ours {
		require.NotNil(t, cell)
	}
}

func TestAProgramSaysHelloToItsClients(t *testing.T) {
	p, err := build(t.Context(), t.TempDir(), "footfall")
	require.NoError(t, err)
	r, err := p.start(t.Context())
	require.NoError(t, err)
	defer r.stop()
	before, err := r.idle()
	require.NoError(t, err)
	resp, err := http.Get(r.url)
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, "hello\n", string(text))
	after, err := r.idle()
	require.NoError(t, err)
	require.Greater(t, after.goroutines, before.goroutines, "a connection is open")
}

func TestEveryProgramIsACandidateOnce(t *testing.T) {
	folders, err := os.ReadDir("programs")
	require.NoError(t, err)
	var there, listed []string
	for _, f := range folders {
		there = append(there, f.Name())
	}
	for _, c := range candidates {
		listed = append(listed, c.folder)
	}
	require.ElementsMatch(t, there, listed)
	require.Equal(t, bare, candidates[0].folder)
}

func TestAModuleWithSeveralVersionsIsCountedOnce(t *testing.T) {
	sum := strings.Join([]string{
		"example.com/a v1.0.0 h1:x=", "example.com/a v1.0.0/go.mod h1:x=", "example.com/a v1.1.0/go.mod h1:x=", "example.com/b v0.1.0/go.mod h1:x=", "",
	}, "\n")
	found := modulesIn([]byte(sum))
	require.Equal(t, map[string]bool{"example.com/a": true, "example.com/b": true}, found)
	require.Len(t, merge(map[string]bool{"example.com/b": true, "example.com/local": true}, found), 3)
}

func TestAProgramThatDoesNotBuildOrStartIsAnError(t *testing.T) {
	_, err := runAll(t.Context(), report.Options{Rounds: 1, Log: t.Logf}, []candidate{{"nosuch", "none", ""}}, 1, 1)
	require.ErrorContains(t, err, "footprint: none")
	_, err = (&program{binary: "/bin/false"}).start(t.Context())
	require.ErrorContains(t, err, "did not start")
}
