//go:build ci && linux

package deploy

import (
	"bufio"
	"debug/elf"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestBinaryIsStatic(t *testing.T) {
	file, err := elf.Open(binary(t))
	require.NoError(t, err)
	defer file.Close()
	libraries, err := file.ImportedLibraries()
	require.NoError(t, err)
	assert.Empty(t, libraries)
	for _, part := range file.Progs {
		assert.NotEqual(t, elf.PT_INTERP, part.Type, "it needs a dynamic linker")
	}
}

// TestServiceNeedsItsDataDirectoryOnly runs the service as the image does, as the image's user, in
// a file system with nothing but the program and a data directory.
func TestServiceNeedsItsDataDirectoryOnly(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can run a program as another user in another file system")
	}
	set := settings(t)
	user, _, _ := strings.Cut(set["USER"], ":")
	id, err := strconv.Atoi(user)
	require.NoError(t, err)
	root, err := os.MkdirTemp("", "footfall-root-")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	require.NoError(t, os.Chmod(root, 0o755))
	program, err := os.ReadFile(binary(t))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(root, "footfall-collector"), program, 0o755))
	require.NoError(t, os.Mkdir(filepath.Join(root, "data"), 0o700))
	require.NoError(t, os.Chown(filepath.Join(root, "data"), id, id))

	command := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), "/footfall-collector", args...)
		cmd.Dir, cmd.Env = "/", []string{"FOOTFALL_DATA=/data", "FOOTFALL_LISTEN=127.0.0.1:0", "FOOTFALL_METRICS=127.0.0.1:0"}
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: uint32(id), Gid: uint32(id)}}
		return cmd
	}
	serve := command("serve")
	serve.Stderr = os.Stderr
	out, err := serve.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, serve.Start())
	address, lines := "", bufio.NewScanner(out)
	for lines.Scan() && !strings.Contains(lines.Text(), "open this link") {
		if at, ok := strings.CutPrefix(lines.Text(), "Footfall serves "); ok {
			address = at
		}
	}
	client := http.Client{Timeout: 10 * time.Second}
	answer, err := client.Get(address + "/healthz")
	require.NoError(t, err)
	answer.Body.Close()
	assert.Equal(t, 200, answer.StatusCode)
	for _, args := range [][]string{{"backup", "/data/backup.db"}, {"check"}, {"check", "/data/backup.db"}} {
		said, err := command(args...).CombinedOutput()
		assert.NoError(t, err, "%q: %s", args, said)
	}
	require.NoError(t, serve.Process.Signal(syscall.SIGTERM))
	for lines.Scan() {
	}
	assert.NoError(t, serve.Wait())
	said, err := command("restore", "/data/backup.db").CombinedOutput()
	assert.NoError(t, err, "%s", said)
	entries, err := os.ReadDir(root)
	require.NoError(t, err)
	assert.Len(t, entries, 2, "nothing was written beside the data")
}
