//go:build ci

package jobtest

import (
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Need finds a program of a server in PATH or in folders, which may be patterns. Without it the test is skipped, or fails in CI.
func Need(t *testing.T, name string, folders ...string) string {
	t.Helper()
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	for _, folder := range folders {
		found, _ := filepath.Glob(filepath.Join(folder, name)) // the pattern is well-formed
		if len(found) > 0 {
			return slices.Max(found)
		}
	}
	if os.Getenv("CI") != "" {
		t.Fatalf("%s is not installed", name)
	}
	t.Skipf("%s is not installed", name)
	return ""
}

// Folder makes a folder of Account with a short name, as sockets need, which ends with the test.
func Folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "jobs")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if a := account(); a != nil {
		require.NoError(t, os.Chown(dir, int(a.Uid), int(a.Gid)))
	}
	return dir
}

// account returns whom a server runs as, because PostgreSQL refuses to run as root.
func account() *syscall.Credential {
	if os.Getuid() != 0 {
		return nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		if u, err := user.Lookup(name); err == nil {
			uid, _ := strconv.ParseUint(u.Uid, 10, 32) // it is a number on Unix
			gid, _ := strconv.ParseUint(u.Gid, 10, 32)
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		}
	}
	return nil
}

func command(dir, name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: account()}
	return cmd
}

// Execute runs a program in dir to its end.
func Execute(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	out, err := command(dir, name, args...).CombinedOutput()
	require.NoError(t, err, "%s: %s", name, out)
}

// Serve runs a server in dir until the test ends, and waits until it answers.
func Serve(t *testing.T, answers func() error, dir, name string, args ...string) {
	t.Helper()
	var said strings.Builder
	cmd := command(dir, name, args...)
	cmd.Stdout, cmd.Stderr = &said, &said
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(said.String())
		}
	})
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		err := answers()
		if err == nil {
			return
		}
		require.Less(t, time.Since(began), patience, "%s: %v", name, err)
	}
}
