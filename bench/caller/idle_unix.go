//go:build unix

package caller

import (
	"time"

	"golang.org/x/sys/unix"
)

// processorTime is what the process has used so far.
func processorTime() time.Duration {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
