// Package retry decides when an event that was not accepted is sent again. It contains
// exponential backoff and Retry-After, the circuit breaker of all senders, the events that wait
// for their next attempt, and the deadlines of attempts. It does not send, and does not
// interpret the API's answers.
package retry

import (
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/footfall-dev/footfall/internal/chars"
)

// Backoff is an exponential delay between attempts, with jitter between Low of the full delay
// and all of it.
type Backoff struct {
	Base time.Duration
	Max  time.Duration
	Low  float64 // 0 is full jitter
}

// Delay returns how long to wait before the next attempt. Step is 0 after the first failure.
func (b Backoff) Delay(step int) time.Duration {
	full := b.Max
	if step < 63 && b.Base <= b.Max>>step {
		full = b.Base << step
	}
	return time.Duration(float64(full) * (b.Low + (1-b.Low)*rand.Float64()))
}

// After reads a Retry-After header (RFC 9110, section 10.2.3), which has seconds or a date. A date
// counts from sent, the answer's Date header (section 6.6.1), because the clock of the server may
// differ from ours. It counts from now if sent is absent or not valid. The result is at most
// limit, and zero if the header is absent, past or not valid.
func After(header, sent string, now time.Time, limit time.Duration) time.Duration {
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
	if began, err := http.ParseTime(sent); err == nil {
		now = began
	}
	return max(0, min(date.Sub(now), limit))
}
