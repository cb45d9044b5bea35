package collector

import (
	"hash/maphash"
	"sync"
	"time"

	"github.com/footfall-dev/footfall/collector/store"
)

// maxShown bounds the keys that shown remembers, to about two megabytes.
const maxShown = 1 << 16

// shown remembers the Idempotency-Keys of events sent to live views, because a store does
// not report repeats. It forgets them at a restart and after 65,536 keys: such a repeat is
// shown again. Figures are unaffected.
type shown struct {
	window     time.Duration
	mu         sync.Mutex
	seed       maphash.Seed
	young, old map[uint64]time.Time // by key hash, the time it was shown; young replaces old when it is full
	half       int                  // of young
}

func newShown(most int, window time.Duration) *shown {
	return &shown{window: window, seed: maphash.MakeSeed(), young: make(map[uint64]time.Time), half: most / 2}
}

// first reports whether e should be shown: it has no key, or a key that was not shown within
// the window.
func (s *shown) first(e *store.Event) bool {
	if e.Key == "" {
		return true
	}
	hash := maphash.Comparable(s.seed, [2]string{e.Site, e.Key})
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.At.Sub(s.last(hash)) < s.window {
		return false
	}
	if len(s.young) >= s.half {
		s.young, s.old = make(map[uint64]time.Time), s.young
	}
	s.young[hash] = e.At
	return true
}

// last returns the zero time for a key that was never shown.
func (s *shown) last(hash uint64) time.Time {
	if at, ok := s.young[hash]; ok {
		return at
	}
	return s.old[hash]
}
