package retry

import (
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/footfall-dev/footfall/internal/chars"
)

// Backoff says how long to wait before the next attempt: exponential, with
// jitter between low of the full delay and all of it.
type Backoff struct {
	Base time.Duration
	Max  time.Duration
	Low  float64 // 0 is full jitter
}

// Delay returns the wait after step failures in a row, the first being step 0.
func (b Backoff) Delay(step int) time.Duration {
	full := b.Max
	if step < 63 && b.Base <= b.Max>>step {
		full = b.Base << step
	}
	return time.Duration(float64(full) * (b.Low + (1-b.Low)*rand.Float64()))
}

// After reads a Retry-After header (RFC 9110, section 10.2.3): seconds or a
// date. It is at most limit, and zero if absent, past or not understood.
func After(header string, now time.Time, limit time.Duration) time.Duration {
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
