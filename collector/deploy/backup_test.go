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
	out, err = exec.CommandContext(t.Context(), "systemd-analyze", "security", "--no-pager", "--offline=true", "--threshold=15", "./footfall-backup.service").CombinedOutput()
	require.NoError(t, err, string(out))
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
	for name, days := range map[string]int{"footfall-2020-01-01T000000Z.db": 16, "footfall-2020-01-03T000000Z.db": 13, "mine.db": 16} {
		file := filepath.Join(backups, name)
		require.NoError(t, os.WriteFile(file, nil, 0o600))
		at := time.Now().AddDate(0, 0, -days)
		require.NoError(t, os.Chtimes(file, at, at))
	}
	for _, command := range commands {
		out, err := run(plain.Replace(command[1]))
		require.NoError(t, err, "%s", out)
	}
	entries, err := os.ReadDir(backups) // sorted
	require.NoError(t, err)
	require.Len(t, entries, 3, "%v", entries)
	made := entries[1].Name()
	assert.Equal(t, []string{"footfall-2020-01-03T000000Z.db", "mine.db"}, []string{entries[0].Name(), entries[2].Name()})
	assert.Regexp(t, `^footfall-\d{4}-\d\d-\d\dT\d{6}Z\.db$`, made)
	out, err := run(binary(t) + " check " + made)
	assert.NoError(t, err, "%s", out)
}
