package child

import (
	"os"
	"strconv"
	"strings"
)

// PeakRSS is the most memory that this process has had resident, in KiB; zero if the
// system does not tell.
func PeakRSS() int { return memory("self", "VmHWM:") }

// RSS is the memory that a process has resident, in KiB; zero if the system does not tell.
func RSS(pid int) int { return memory(strconv.Itoa(pid), "VmRSS:") }

// memory is a field of /proc/[pid]/status (proc(5)).
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
