package child

import (
	"os/exec"
	"runtime"

	"golang.org/x/sys/unix"
)

// CanPin reports whether there are enough cores to separate two processes.
func CanPin() bool { return runtime.NumCPU() >= 2 }

// nth returns the n-th allowed core, counted from 0.
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

// StartOn starts cmd on one of the allowed cores. It moves the forking thread there briefly, and
// cmd inherits the affinity. So all threads of a Go child run on that core, and its runtime
// counts one core.
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
