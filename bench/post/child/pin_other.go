//go:build !linux

package child

import "os/exec"

// CanPin reports whether there are enough cores to separate two processes.
func CanPin() bool { return false }

// StartOn starts cmd on any core: pinning is implemented for Linux only.
func StartOn(_ int, cmd *exec.Cmd) error { return cmd.Start() }
