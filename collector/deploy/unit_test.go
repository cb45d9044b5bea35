//go:build ci && unix

package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const unit = "footfall-collector.service"

// withBinary writes a copy of the unit that starts the binary of this test.
func withBinary(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("systemd-analyze is not installed")
		}
		t.Skip("systemd-analyze is not installed")
	}
	text, err := os.ReadFile(unit)
	require.NoError(t, err)
	const installed = "ExecStart=/usr/local/bin/footfall-collector serve\n"
	require.Equal(t, 1, strings.Count(string(text), installed))
	file := filepath.Join(t.TempDir(), unit)
	require.NoError(t, os.WriteFile(file, []byte(strings.Replace(string(text), installed, "ExecStart="+binary(t)+" serve\n", 1)), 0o600))
	return file
}

func TestSystemdTakesTheUnit(t *testing.T) {
	file := withBinary(t)
	out, err := exec.CommandContext(t.Context(), "systemd-analyze", "verify", "--man=no", file).CombinedOutput()
	require.NoError(t, err, string(out))
	assert.Empty(t, string(out))
}

// Without StartLimitIntervalSec systemd starts a unit five times in ten seconds at most. Then the unit has failed for good.
func TestSystemdRestartsTheServiceAfterAnyNumberOfFailures(t *testing.T) {
	text, err := os.ReadFile(unit)
	require.NoError(t, err)
	section, _, found := strings.Cut(string(text), "\n[Service]\n")
	require.True(t, found)
	assert.Contains(t, section, "\nStartLimitIntervalSec=0\n")
	assert.Contains(t, string(text), "\nRestart=on-failure\n")
	assert.Contains(t, string(text), "\nRestartPreventExitStatus=2\n")
}

// The scale goes from 0 to 10. A unit without options has 9.6.
func TestUnitIsHardened(t *testing.T) {
	file := withBinary(t)
	out, err := exec.CommandContext(t.Context(), "systemd-analyze", "security", "--no-pager", "--offline=true", "--threshold=15", file).CombinedOutput()
	require.NoError(t, err, string(out))
	assert.Contains(t, string(out), "Overall exposure level")
}

func TestVariablesOfTheUnitAreKnown(t *testing.T) {
	text, err := os.ReadFile(unit)
	require.NoError(t, err)
	known, found := variables(t), 0
	for line := range strings.Lines(string(text)) {
		_, pair, ok := strings.Cut(line, "FOOTFALL_")
		if name, _, assigned := strings.Cut(pair, "="); ok && assigned {
			assert.Contains(t, known, "FOOTFALL_"+name)
			found++
		}
	}
	assert.Equal(t, 2, found)
}
