package spool

import (
	"slices"
	"time"

	"github.com/footfall-dev/footfall"
)

// Plant makes a file of events that another process has left, with the given ages. Events
// without an age are new.
func Plant(path string, records []footfall.Record, ages ...time.Duration) error {
	s, err := openStore(path, contents{})
	if err != nil {
		return err
	}
	defer s.close()
	ages = append(ages, make([]time.Duration, len(records)-len(ages))...)
	var c change
	if len(ages) > 0 {
		c.clock = slices.Max(ages)
	}
	for i := range records {
		key := uint64(i + 1)
		c.keys = append(c.keys, appendKey(nil, key))
		c.values = append(c.values, encode(nil, key, 4711, c.clock-ages[i], &records[i]))
	}
	return s.commit(&c)
}

// InMemory returns how many events are in the window, and how many have been taken.
func (s *Spool) InMemory() (window, taken int) {
	s.feed.mu.Lock()
	defer s.feed.mu.Unlock()
	return s.feed.window.Len(), len(s.feed.out) - s.feed.window.Len()
}

// MapsQueues reports whether this system supports queues in a mapped file.
var MapsQueues = mapsQueues
