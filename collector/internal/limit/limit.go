// Package limit bounds how often each of many clients may do something. Its tables are
// bounded, and prefer to drop clients that are not limited.
package limit

import (
	"net/netip"
	"sync"
	"time"
)

// Rate allows one event each Every in the long run, and Burst at once.
type Rate struct {
	Every time.Duration
	Burst int
}

// PerSecond returns a Rate of rate events a second. Both arguments must be above zero.
func PerSecond(rate float64, burst int) Rate {
	longest := float64(1<<62) / float64(burst) // Burst times Every stays a Duration
	return Rate{time.Duration(max(min(float64(time.Second)/rate, longest), 1)), burst}
}

// Bucket is one client's use of a Rate. It stores when it is full again, in nanoseconds: a
// client that returns exactly after its wait is allowed. The zero Bucket is full.
type Bucket struct{ full time.Time }

// Take uses one event, or returns the wait for the next.
func (b *Bucket) Take(now time.Time, r Rate) (wait time.Duration) {
	if wait = b.Wait(now, r); wait == 0 {
		b.full = b.start(now).Add(r.Every)
	}
	return wait
}

// Wait returns the same as Take, but uses nothing.
func (b *Bucket) Wait(now time.Time, r Rate) time.Duration {
	return max(b.start(now).Sub(now)-time.Duration(r.Burst-1)*r.Every, 0)
}

func (b *Bucket) start(now time.Time) time.Time {
	if b.full.Before(now) {
		return now
	}
	return b.full
}

// Table has a Bucket for each key. If the table is full, a new key replaces the fullest of a
// few buckets. It is safe for concurrent use.
type Table[K comparable] struct {
	rate Rate
	max  int

	mu      sync.Mutex
	buckets map[K]Bucket
}

// NewTable returns a Table of at most this many buckets.
func NewTable[K comparable](r Rate, most int) *Table[K] {
	return &Table[K]{rate: r, max: most, buckets: make(map[K]Bucket)}
}

// Take uses one event of the key's rate, or returns the wait for the next.
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

// Wait returns the same as Take, but uses nothing.
func (t *Table[K]) Wait(now time.Time, key K) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	b := t.buckets[key]
	return b.Wait(now, t.rate)
}

// Forgive refills the key's bucket.
func (t *Table[K]) Forgive(key K) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.buckets, key)
}

// makeRoom compares only a few buckets, so that a client with many keys does not make each
// request scan the table.
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

// Prune drops full buckets: they equal new ones.
func (t *Table[K]) Prune(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key, b := range t.buckets {
		if !b.full.After(now) {
			delete(t.buckets, key)
		}
	}
}

// Len returns the number of buckets.
func (t *Table[K]) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.buckets)
}

// PrefixOf returns the network of one customer: /24 for IPv4, /64 for IPv6. Customers can
// usually choose among its addresses. For an invalid address it returns the zero Prefix.
func PrefixOf(a netip.Addr) netip.Prefix {
	a = a.Unmap().WithZone("")
	bits := 64
	if a.Is4() {
		bits = 24
	}
	p, _ := a.Prefix(bits)
	return p
}
