package spool

import (
	"os"
	"time"
)

const (
	// largeFile and fewBytes define when a file that is almost empty is replaced by a small
	// one. A bbolt file never shrinks, and each transaction lists its free pages.
	largeFile = 16 << 20
	fewBytes  = 1 << 20
)

// makeRoom returns how many of the held events fit in the file, after it has dropped the oldest
// ones if Config allows it. The file may fail meanwhile.
func (o *owner) makeRoom() (n int) {
	if len(o.held) == 0 {
		return 0
	}
	room := o.cfg.MaxBytes - o.store.bytes + o.feed.endedBytes()
	for ; n < len(o.held); n++ {
		room -= int64(headerSize + len(o.held[n].Body))
		for room < 0 {
			freed, ok := o.free()
			if !ok {
				return n
			}
			room += freed
		}
	}
	return n
}

// removeSurplus removes ended records until one transaction can remove the rest. makeRoom
// counts them as free, and the next transaction must not exceed MaxBytes. The file may fail
// meanwhile.
func (o *owner) removeSurplus() {
	for o.store != nil && o.feed.endedEvents() > maxRemoved {
		ended, _ := o.feed.endings()
		o.prepare(0, ended)
		if err := o.store.commit(&o.change); err != nil {
			o.fail(err)
			return
		}
		o.feed.committed(o.store, len(ended))
	}
}

// free drops the oldest event. It returns false if Config.RefuseNew is set, or if all events
// are in flight.
func (o *owner) free() (freed int64, ok bool) {
	o.told.full(o.log, &o.cfg)
	if o.cfg.RefuseNew {
		return 0, false
	}
	size, ok := o.feed.dropOldest()
	if !ok {
		o.fill()
		size, ok = o.feed.dropOldest()
	}
	return int64(size), ok
}

// sweep removes the events in memory that are too old. Other events are checked when they are
// read.
func (o *owner) sweep() {
	if now := time.Now(); o.cfg.MaxAge > 0 && now.Sub(o.swept) >= o.sweepEvery() {
		o.swept = now
		o.told.expired(o.log, &o.cfg, o.feed.sweep(now))
		o.noteClock(max(o.sweepEvery(), noteEvery))
	}
}

func (o *owner) sweepEvery() time.Duration {
	if o.cfg.MaxAge < 0 {
		return time.Minute
	}
	return min(max(o.cfg.MaxAge/10, 10*time.Millisecond), time.Minute)
}

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
