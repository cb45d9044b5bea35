package child

import (
	"os/exec"
	"runtime"

	"golang.org/x/sys/unix"
)

// CanPin reports whether there are cores to keep two processes apart on.
func CanPin() bool { return runtime.NumCPU() >= 2 }

// StartOn starts cmd on one core: the thread that forks goes there for a moment, and what
// it starts inherits that. So every thread of a Go child is on that core, and its runtime
// counts one.
func StartOn(core int, cmd *exec.Cmd) error {
	if core == AnyCore || !CanPin() {
		return cmd.Start()
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return err
	}
	one.Set(core)
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		return err
	}
	err := cmd.Start()
	if back := unix.SchedSetaffinity(0, &before); err == nil {
		err = back
	}
	return err
}
