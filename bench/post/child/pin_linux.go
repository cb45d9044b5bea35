package child

import (
	"os/exec"
	"runtime"

	"golang.org/x/sys/unix"
)

// CanPin reports whether there are cores to keep two processes apart on.
func CanPin() bool { return runtime.NumCPU() >= 2 }

// nth is the n-th of the cores that are allowed, counted from 0.
func nth(allowed *unix.CPUSet, n int) int {
	for core := range len(allowed) * 64 {
		if !allowed.IsSet(core) {
			continue
		}
		if n == 0 {
			return core
		}
		n--
	}
	return -1
}

// StartOn starts cmd on one of the cores that this process may use: the thread that forks goes there for a moment, and what
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
	one.Set(nth(&before, core))
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		return err
	}
	err := cmd.Start()
	if back := unix.SchedSetaffinity(0, &before); err == nil {
		err = back
	}
	return err
}
