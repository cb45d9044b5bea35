package spool

import (
	"os"
	"time"
)

// shrink replaces the file by a small one after an outage.
func (o *owner) shrink() {
	s := o.store
	if s == nil || s.size < largeFile || s.bytes > fewBytes || time.Since(o.shrunk) < retryMax {
		return
	}
	o.shrunk = time.Now()
	all, err := s.all()
	if err != nil {
		o.fail(err)
		return
	}
	if err = o.writeDraft(all); err != nil {
		_ = os.Remove(o.claim.draft())
		return // the large file works too; shrink tries again later
	}
	s.close()
	if err = o.claim.adoptDraft(); err == nil {
		o.store, err = openStore(o.claim.path, contents{events: s.events, bytes: s.bytes, last: s.next - 1, clock: s.clock})
	}
	if err != nil {
		o.store = s
		o.fail(err)
	}
}

func (o *owner) writeDraft(all *change) error {
	draft, err := openStore(o.claim.draft(), contents{})
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
