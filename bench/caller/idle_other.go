//go:build !unix

package caller

import "time"

// processorTime is not known here: two milliseconds are then taken for idle.
func processorTime() time.Duration { return 0 }
