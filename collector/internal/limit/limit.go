// Package limit bounds how often something may happen: for each of many clients, in a
// bounded table, and without forgetting whom it is just holding back.
package limit

import (
	"net/netip"
	"sync"
	"time"
)

// Rate is how often something may happen: one each Every in the long run, Burst at once.
type Rate struct {
	Every time.Duration
	Burst int
}

// PerSecond returns the Rate of so many a second. Both have to be above zero.
func PerSecond(rate float64, burst int) Rate {
	longest := float64(1<<62) / float64(burst) // Burst times Every stays a Duration
	return Rate{time.Duration(max(min(float64(time.Second)/rate, longest), 1)), burst}
}

// Bucket is what one client has used up. It says when all will be won back, in whole
// nanoseconds: who comes back after just the time that it was told is let in. The zero
// Bucket is full.
type Bucket struct{ full time.Time }

// Take uses up one, or returns how long there is none.
func (b *Bucket) Take(now time.Time, r Rate) (wait time.Duration) {
	if wait = b.Wait(now, r); wait == 0 {
		b.full = b.start(now).Add(r.Every)
	}
	return wait
}

// Wait returns what Take would, and uses up nothing.
func (b *Bucket) Wait(now time.Time, r Rate) time.Duration {
	return max(b.start(now).Sub(now)-time.Duration(r.Burst-1)*r.Every, 0)
}

func (b *Bucket) start(now time.Time) time.Time {
	if b.full.Before(now) {
		return now
	}
	return b.full
}

// Table has a Bucket for each key. When it is full the fullest of a few buckets makes
// room, for it has the least to tell. It is safe for concurrent use.
type Table[K comparable] struct {
	rate Rate
	max  int

	mu      sync.Mutex
	buckets map[K]Bucket
}

// NewTable returns a Table that keeps at most so many buckets.
func NewTable[K comparable](r Rate, most int) *Table[K] {
	return &Table[K]{rate: r, max: most, buckets: make(map[K]Bucket)}
}

// Take uses up one of the key's, or returns how long there is none.
func (t *Table[K]) Take(now time.Time, key K) (wait time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	b, ok := t.buckets[key]
	if !ok {
		t.makeRoom()
	}
	wait = b.Take(now, t.rate)
	t.buckets[key] = b
	return wait
}

// Wait returns what Take would, and uses up nothing.
func (t *Table[K]) Wait(now time.Time, key K) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	b := t.buckets[key]
	return b.Wait(now, t.rate)
}

// Forgive gives a key back all that it has used up.
func (t *Table[K]) Forgive(key K) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.buckets, key)
}

// makeRoom looks at a few buckets only: a client with many keys must not make each of
// its requests cost a walk through the table.
func (t *Table[K]) makeRoom() {
	if len(t.buckets) < t.max {
		return
	}
	const few = 8
	var fullest K
	var soonest time.Time
	seen := 0
	for key, b := range t.buckets {
		if seen == 0 || b.full.Before(soonest) {
			fullest, soonest = key, b.full
		}
		if seen++; seen == few {
			break
		}
	}
	delete(t.buckets, fullest)
}

// Prune drops buckets that are full again: they say what a new one would.
func (t *Table[K]) Prune(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key, b := range t.buckets {
		if !b.full.After(now) {
			delete(t.buckets, key)
		}
	}
}

// Len returns how many buckets there are.
func (t *Table[K]) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.buckets)
}

// PrefixOf returns the network of an address that is likely one customer's, whose
// addresses he can choose from: /24 of IPv4, /64 of IPv6. Of what is no address it is
// the zero Prefix, one for all.
func PrefixOf(a netip.Addr) netip.Prefix {
	a = a.Unmap().WithZone("")
	bits := 64
	if a.Is4() {
		bits = 24
	}
	p, _ := a.Prefix(bits)
	return p
}
