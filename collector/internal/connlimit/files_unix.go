//go:build unix

package connlimit

import (
	"math"
	"syscall"
)

// otherFiles is how many files the process needs for other things than connections.
const otherFiles = 64

// Files returns how many connections the process may have open.
func Files() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return math.MaxInt
	}
	return max(int(min(uint64(limit.Cur), math.MaxInt32))-otherFiles, 1)
}
