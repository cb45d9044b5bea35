package child

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// PeakRSS returns the peak resident memory of this process in KiB, or zero if it is unknown.
func PeakRSS() int { return memory("self", "VmHWM:") }

// RSS returns the resident memory of a process in KiB, or zero if it is unknown.
func RSS(pid int) int { return memory(strconv.Itoa(pid), "VmRSS:") }

// memory returns a field of /proc/[pid]/status (proc(5)).
func memory(process, field string) int {
	status, _ := os.ReadFile("/proc/" + process + "/status")
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, field); ok {
			kib, _ := strconv.Atoi(strings.Fields(value)[0])
			return kib
		}
	}
	return 0
}

// Usage is what a process has used since its start.
type Usage struct {
	CPU     time.Duration
	Mallocs uint64
}

// Used returns what this process has used.
func Used() Usage {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return Usage{CPU(), m.Mallocs}
}
