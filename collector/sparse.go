package collector

import (
	"sync"
	"time"
)

// quiet is the minimum time between two log lines of a kind.
const quiet = 10 * time.Second

// sparse allows one log line per quiet period.
type sparse struct {
	mu     sync.Mutex
	last   time.Time
	missed int
}

// now reports whether a line is due, and how many were suppressed since the last.
func (s *sparse) now(now time.Time) (missed int, due bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.last) < quiet {
		s.missed++
		return 0, false
	}
	missed = s.missed
	s.last, s.missed = now, 0
	return missed, true
}
