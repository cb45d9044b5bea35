package collector

import (
	"time"

	"github.com/footfall-dev/footfall/collector/internal/limit"
)

// maxBuckets bounds the table of a limiter: a few megabytes.
const maxBuckets = 1 << 15

// limiter is a table of limits by the clock, in the whole seconds of Retry-After. The
// nil limiter holds nobody back.
type limiter[K comparable] struct{ table *limit.Table[K] }

func newLimiter[K comparable](perSecond float64, burst int) *limiter[K] {
	return &limiter[K]{limit.NewTable[K](limit.PerSecond(perSecond, burst), maxBuckets)}
}

// take uses up one of the key's; if there is none it says in how many seconds there
// will be.
func (l *limiter[K]) take(key K) (wait int) {
	if l == nil {
		return 0
	}
	return seconds(l.table.Take(time.Now(), key))
}

// prune forgets who would be let in like anybody else.
func (l *limiter[K]) prune() { l.table.Prune(time.Now()) }

// seconds rounds up: who comes back a moment early would be sent away again.
func seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }
