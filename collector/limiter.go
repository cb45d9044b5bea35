package collector

import (
	"math"
	"net/netip"
	"sync"
	"time"
)

// maxBuckets bounds the table of a limiter: a few megabytes.
const maxBuckets = 1 << 15

// limiter is a token bucket per client prefix. Its table is bounded; when it is full the
// fullest of a few buckets makes room, for it has the least to tell.
type limiter struct {
	rate  float64 // tokens per second
	burst float64
	max   int // buckets

	mu      sync.Mutex
	buckets map[netip.Prefix]bucket
}

type bucket struct {
	tokens float64
	at     time.Time
}

func newLimiter(rate float64, burst int) *limiter {
	return &limiter{rate: rate, burst: float64(burst), max: maxBuckets, buckets: make(map[netip.Prefix]bucket)}
}

// take takes a token of the prefix; if there is none it says in how many seconds there
// will be one.
func (l *limiter) take(prefix netip.Prefix) (wait int) {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	b, ok := l.buckets[prefix]
	if !ok {
		l.makeRoom(now)
		b = bucket{l.burst, now}
	}
	b = bucket{l.level(b, now), now}
	if b.tokens < 1 {
		wait = max(int(math.Ceil((1-b.tokens)/l.rate)), 1)
	} else {
		b.tokens--
	}
	l.buckets[prefix] = b
	return wait
}

func (l *limiter) level(b bucket, now time.Time) float64 {
	return min(l.burst, b.tokens+now.Sub(b.at).Seconds()*l.rate)
}

// makeRoom looks at a few buckets only: a client with many prefixes must not make each
// of its requests cost a walk through the table.
func (l *limiter) makeRoom(now time.Time) {
	if len(l.buckets) < l.max {
		return
	}
	const few = 8
	var fullest netip.Prefix
	seen, most := 0, -1.0
	for prefix, b := range l.buckets {
		if level := l.level(b, now); level > most {
			fullest, most = prefix, level
		}
		if seen++; seen == few {
			break
		}
	}
	delete(l.buckets, fullest)
}

// prune drops buckets that are full again: they say what a new one would.
func (l *limiter) prune() {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	for prefix, b := range l.buckets {
		if l.level(b, now) == l.burst {
			delete(l.buckets, prefix)
		}
	}
}
