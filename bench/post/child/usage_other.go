//go:build !unix

package child

import "time"

// CPU returns the processor time of this process, or zero if it is unknown.
func CPU() time.Duration { return 0 }
