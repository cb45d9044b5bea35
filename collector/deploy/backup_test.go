//go:build ci && unix

package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/sqlite"
)

func TestSystemdTakesTheTimerOfBackups(t *testing.T) {
	withBinary(t) // systemd-analyze is there
	out, err := exec.CommandContext(t.Context(), "systemd-analyze", "verify", "--man=no", "./footfall-backup.timer", "./footfall-backup.service").CombinedOutput()
	require.NoError(t, err, string(out))
	assert.Empty(t, string(out))
}

// TestTimerMakesBackupsAndRemovesOldOnes runs the commands of the unit.
func TestTimerMakesBackupsAndRemovesOldOnes(t *testing.T) {
	data, backups := t.TempDir(), t.TempDir()
	run := func(command string) ([]byte, error) {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
		cmd.Dir, cmd.Env = backups, append(os.Environ(), "FOOTFALL_DATA="+data)
		return cmd.CombinedOutput()
	}
	text, err := os.ReadFile("footfall-backup.service")
	require.NoError(t, err)
	commands := regexp.MustCompile(`(?m)^ExecStart=(.*)$`).FindAllStringSubmatch(string(text), -1)
	require.Len(t, commands, 2)
	plain := strings.NewReplacer("$$", "$", "%%", "%", "/usr/local/bin/footfall-collector", binary(t), "/usr/bin/find", "find")
	_, err = run(plain.Replace(commands[0][1]))
	require.Error(t, err, "there is no data")

	store, err := sqlite.Open(t.Context(), sqlite.Config{File: filepath.Join(data, "footfall.db")})
	require.NoError(t, err)
	defer store.Close()
	for name, days := range map[string]int{"footfall-2026-01-01T000000Z.db": 16, "footfall-2026-01-03T000000Z.db": 13, "mine.db": 16} {
		file := filepath.Join(backups, name)
		require.NoError(t, os.WriteFile(file, nil, 0o600))
		at := time.Now().AddDate(0, 0, -days)
		require.NoError(t, os.Chtimes(file, at, at))
	}
	for _, command := range commands {
		out, err := run(plain.Replace(command[1]))
		require.NoError(t, err, "%s", out)
	}
	var made []string
	entries, err := os.ReadDir(backups)
	require.NoError(t, err)
	for _, entry := range entries {
		if name := entry.Name(); name != "mine.db" && name != "footfall-2026-01-03T000000Z.db" {
			made = append(made, name)
		}
	}
	require.Len(t, made, 1, "%v", entries)
	assert.Regexp(t, `^footfall-\d{4}-\d\d-\d\dT\d{6}Z\.db$`, made[0])
	out, err := run(binary(t) + " check " + made[0])
	assert.NoError(t, err, "%s", out)
}
