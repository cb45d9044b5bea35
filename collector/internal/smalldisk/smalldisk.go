//go:build linux

// Package smalldisk runs tests on a disk that is soon full.
package smalldisk

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// Run runs a test again in a process that has a disk of a size, such as 8m, and calls test there with the disk's
// directory. The process has its own mounts, which end with it. Run skips the test on a machine that does not let
// it mount anything.
func Run(t *testing.T, size string, test func(t *testing.T, dir string)) {
	t.Helper()
	const variable = "FOOTFALL_TEST_DISK"
	if dir := os.Getenv(variable); dir != "" {
		if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
			t.Fatal(err)
		}
		test(t, dir)
		return
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), variable+"="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Geteuid(), Size: 1}}
	}
	out, err := cmd.CombinedOutput()
	if errors.Is(err, syscall.EPERM) || bytes.Contains(out, []byte(syscall.EPERM.Error())) {
		t.Skip("this machine does not let tests mount anything")
	}
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}
