package child

import (
	"os"
	"strconv"
	"strings"
)

// PeakRSS is the most memory that this process has had resident, in KiB; zero if the
// system does not tell.
func PeakRSS() int {
	status, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, _ := strconv.Atoi(strings.Fields(value)[0])
			return kib
		}
	}
	return 0
}
