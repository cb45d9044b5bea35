package collector

import (
	"time"

	"github.com/footfall-dev/footfall/collector/internal/limit"
)

// maxBuckets bounds a limiter's table to a few megabytes.
const maxBuckets = 1 << 15

// limiter limits the rate per key and returns waits in whole seconds, for Retry-After. The
// nil limiter allows everything.
type limiter[K comparable] struct{ table *limit.Table[K] }

func newLimiter[K comparable](perSecond float64, burst int) *limiter[K] {
	return &limiter[K]{limit.NewTable[K](limit.PerSecond(perSecond, burst), maxBuckets)}
}

// take uses one event of the key's rate, or returns the seconds until one is available.
func (l *limiter[K]) take(key K) (wait int) {
	if l == nil {
		return 0
	}
	return seconds(l.table.Take(time.Now(), key))
}

// prune drops clients that are no longer limited.
func (l *limiter[K]) prune() { l.table.Prune(time.Now()) }

// seconds rounds up, because a client that returns early would be refused again.
func seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }
