//go:build !unix

package child

import "time"

// CPU is the processor time that this process has used; zero where it is not known.
func CPU() time.Duration { return 0 }
