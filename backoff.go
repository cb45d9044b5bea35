package footfall

import (
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/footfall-dev/footfall/internal/chars"
)

// backoff says how long to wait before the next attempt: exponential, with
// jitter between low of the full delay and all of it.
type backoff struct {
	base time.Duration
	max  time.Duration
	low  float64 // 0 is full jitter
}

// delay returns the wait after step failures in a row, the first being step 0.
func (b backoff) delay(step int) time.Duration {
	full := b.max
	if step < 63 && b.base <= b.max>>step {
		full = b.base << step
	}
	return time.Duration(float64(full) * (b.low + (1-b.low)*rand.Float64()))
}

// retryAfter reads a Retry-After header (RFC 9110, section 10.2.3): seconds or a
// date. It is at most limit, and zero if absent, past or not understood.
func retryAfter(header string, now time.Time, limit time.Duration) time.Duration {
	if seconds, err := strconv.ParseUint(header, 10, 31); err == nil {
		return min(time.Duration(seconds)*time.Second, limit)
	}
	if chars.IsDigits(header) {
		return limit // more seconds than fit
	}
	date, err := http.ParseTime(header)
	if err != nil {
		return 0
	}
	return max(0, min(date.Sub(now), limit))
}
