package main

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// warned returns what warnOfMisspelled logs.
func warned(environ ...string) string {
	var out strings.Builder
	warnOfMisspelled(slog.New(slog.NewTextHandler(&out, nil)), environ)
	return out.String()
}

func TestMisspelledVariablesLeaveAWarning(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"FOOTFALL_RETENTON": "FOOTFALL_RETENTION", "FOOTFALL_PUBLICURL": "FOOTFALL_PUBLIC_URL", "FOOTFALL_DATAS": "FOOTFALL_DATA",
		"FOOTFALL_TRUSTED_PROXY": "FOOTFALL_TRUSTED_PROXIES", "FOOTFALL_MAX_CONNS": "FOOTFALL_MAX_CONNECTIONS", "FOOTFALL_KEYRATE": "FOOTFALL_KEY_RATE",
	} {
		text := warned("PATH=/bin", name+"=secret")
		assert.Contains(t, text, "level=WARN", name)
		assert.Contains(t, text, "variable="+name+" nearest="+want+"\n")
		assert.NotContains(t, text, "secret")
	}
	assert.Empty(t, warned("FOOTFALL_DATA=x", "FOOTFALL_NEW_FEATURE=x", "DATA=x"))
}

// The list of doctor has the variables of the whole project.
func TestVariablesOfOtherProgramsLeaveNoWarning(t *testing.T) {
	t.Parallel()
	list, err := os.ReadFile("../../../cmd/footfall/internal/doctor/variables.go")
	require.NoError(t, err)
	names := regexp.MustCompile(`FOOTFALL_[A-Z_]+`).FindAllString(string(list), -1)
	require.Contains(t, names, "FOOTFALL_RATE")
	assert.Empty(t, warned(names...))
}

// Not parallel: the process has one environment.
func TestServeWarnsOfMisspelledVariables(t *testing.T) {
	t.Setenv("FOOTFALL_RETENTON", "90d")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var stderr bytes.Buffer
	assert.Error(t, run(ctx, []string{"-data", t.TempDir(), "-listen", "127.0.0.1:0"}, noEnv, io.Discard, &stderr))
	assert.Contains(t, stderr.String(), "variable=FOOTFALL_RETENTON nearest=FOOTFALL_RETENTION")
}
