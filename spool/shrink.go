package spool

import (
	"os"
)

const (
	// largeFile and sparseBytes define when a file that is almost empty is replaced by a small
	// one. A bbolt file never shrinks, and each transaction lists its free pages.
	largeFile   = 16 << 20
	sparseBytes = 1 << 20
)

// isSparse reports whether the file should be replaced by a small one, as after an outage.
func (s *store) isSparse() bool { return s.size >= largeFile && s.bytes <= sparseBytes }

// shrink replaces the file of s by a small one, and returns its store. It returns s if a draft
// cannot be written, because the large file works too. After an error, neither can be used.
func shrink(s *store, c *claim) (*store, error) {
	all, err := s.all()
	if err != nil {
		return s, err
	}
	if err = writeDraft(c, all); err != nil {
		_ = os.Remove(c.draft())
		return s, nil
	}
	s.close()
	if err = c.adoptDraft(); err != nil {
		return s, err
	}
	small, err := openStore(c.path, contents{events: s.events, bytes: s.bytes, last: s.next - 1, clock: s.clock})
	if err != nil {
		return s, err
	}
	return small, nil
}

func writeDraft(c *claim, all *change) error {
	draft, err := openStore(c.draft(), contents{})
	if err != nil {
		return err
	}
	defer draft.close()
	return draft.commit(all)
}

// all returns a change that copies a file with few records.
func (s *store) all() (*change, error) {
	c := change{clock: s.clock}
	_, err := s.read(0, func(k, v []byte) error {
		c.add(k, v)
		return nil
	})
	return &c, err
}
