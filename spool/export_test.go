package spool

import "github.com/footfall-dev/footfall"

// Plant makes a file of events that some other process has left.
func Plant(path string, records []footfall.Record) error {
	s, err := openStore(path, tally{})
	if err != nil {
		return err
	}
	defer s.close()
	var c change
	for i := range records {
		key := uint64(i + 1)
		c.keys = append(c.keys, appendKey(nil, key))
		c.values = append(c.values, encode(nil, key, 4711, &records[i]))
	}
	return s.commit(&c)
}

// InMemory returns how many events are in the window, and how many have been taken.
func (s *Spool) InMemory() (window, taken int) {
	s.feed.mu.Lock()
	defer s.feed.mu.Unlock()
	return len(s.feed.window), len(s.feed.out) - len(s.feed.window)
}
