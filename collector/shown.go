package collector

import (
	"hash/maphash"
	"sync"
	"time"

	"github.com/footfall-dev/footfall/collector/store"
)

// maxShown bounds the keys that shown remembers: two megabytes or so.
const maxShown = 1 << 16

// shown remembers the Idempotency-Keys of events that were handed to live views. A store
// takes a repeated event without a word, so this is how a live view shows it once. It
// does not see repeats of what came before the start, nor of what came 65,536 keys ago:
// those are shown again. Figures are the store's and never count them twice.
type shown struct {
	window     time.Duration
	mu         sync.Mutex
	seed       maphash.Seed
	young, old map[uint64]time.Time // when each was shown; what was young once is old, then forgotten
	half       int                  // of young
}

func newShown(most int, window time.Duration) *shown {
	return &shown{window: window, seed: maphash.MakeSeed(), young: make(map[uint64]time.Time), half: most / 2}
}

// first reports whether e is to be shown: it has no key, or one that was not shown for
// as long as a store remembers it.
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

// last returns the zero time for what was never shown.
func (s *shown) last(hash uint64) time.Time {
	if at, ok := s.young[hash]; ok {
		return at
	}
	return s.old[hash]
}
