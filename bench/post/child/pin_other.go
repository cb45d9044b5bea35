//go:build !linux

package child

import "os/exec"

// CanPin reports whether there are cores to keep two processes apart on.
func CanPin() bool { return false }

// StartOn starts cmd anywhere: only Linux is asked for one core.
func StartOn(_ int, cmd *exec.Cmd) error { return cmd.Start() }
