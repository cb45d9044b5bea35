package spool

import (
	"errors"
	"time"

	"github.com/footfall-dev/footfall"
)

// retryMin and retryMax bound the wait before a file that failed is tried again.
const (
	retryMin = time.Second
	retryMax = 30 * time.Second
)

// owner is the state of the only goroutine that uses the file.
type owner struct {
	*Spool
	src   *footfall.Source
	claim *claim
	store *store // nil while the file cannot be used

	next      uint64 // key, as of the store that was used last
	uncertain uint64 // first key of a transaction that failed
	fault     error  // of a file that must be replaced
	held      []footfall.Record
	heldBytes int
	arena     arena
	change    change
	keys      []byte

	closing   bool
	handed    bool // the feed is closing, too
	fresh     bool // no file was opened yet
	retryAt   time.Time
	delay     time.Duration
	oldest    time.Time // when the first ended record was seen
	swept     time.Time
	shrunk    time.Time // last attempt to shrink the file
	again     time.Time // when an event that Next gave up was seen
	recovered time.Time // last search for queues of killed processes
	notices   notices
	adopter
}

func newOwner(s *Spool, src *footfall.Source) *owner {
	return &owner{
		Spool: s, src: src, next: 1, uncertain: none, fresh: true,
		adopter: adopter{spool: s, ignored: make(map[string]bool)},
	}
}

// hold keeps the tracker's records until they are written. It exposes a record that is larger
// than MaxBytes.
func (o *owner) hold(records []footfall.Record) {
	for i := range records {
		size := sizeOf(&records[i])
		if int64(size) > o.cfg.MaxBytes {
			if kept, ok := o.src.Keep(records[i], nil); ok {
				o.feed.expose([]footfall.Record{kept}, true)
			}
			continue
		}
		o.heldBytes += size
		o.held = append(o.held, records[i])
	}
}

// expose passes events to Next that are not in the file.
func (o *owner) expose() {
	o.rescue()
	o.feed.expose(o.held, false)
	o.held, o.heldBytes = nil, 0
}

// fail closes the file, which cannot be used.
func (o *owner) fail(err error) {
	first := o.delay == 0
	o.next = o.store.next
	o.store.close()
	o.store = nil
	o.uncertain = min(o.uncertain, o.next)
	o.down(err)
	if first && errors.Is(err, errDamaged) {
		o.retryAt = time.Time{} // set it aside at once
		o.wakeOwner()
	}
}

// down notes that events are in memory only.
func (o *owner) down(err error) {
	o.notices.down(o.log, o.cfg.Dir, err)
	if errors.Is(err, errDamaged) {
		o.fault = err
	}
	o.feed.failed()
	o.delay = min(max(2*o.delay, retryMin), retryMax)
	o.retryAt = time.Now().Add(o.delay)
}

// reopen tries a file that has failed, if the wait is over.
func (o *owner) reopen() {
	if o.store != nil || time.Now().Before(o.retryAt) {
		return
	}
	t, err := o.open()
	if err == nil {
		err = o.forget(t.uncertain)
	}
	if err != nil {
		o.down(err)
		return
	}
	o.store.next = max(o.next, t.last+1)
	o.uncertain, o.fault = none, nil
	clear(o.ignored) // they may be usable again
	o.scanned = time.Time{}
	o.feed.opened(o.store, &t, o.fresh)
	if o.fresh {
		if err := o.recoverQueues(); err != nil {
			o.fail(err)
			return
		}
	}
	o.hide()
	o.fresh = false
	o.delay = 0
	o.notices.up(o.log, o.cfg.Dir)
}

// forget removes records that a failed transaction has written nevertheless. They are also in
// memory.
func (o *owner) forget(keys []uint64) error {
	if len(keys) == 0 {
		return nil
	}
	err := o.store.commit(&change{remove: keys})
	if err != nil {
		o.store.close()
		o.store = nil
	}
	return err
}

// hide takes back the events that are in memory only. They are written before later events.
func (o *owner) hide() {
	later := o.held
	o.held, o.heldBytes = nil, 0
	o.hold(o.feed.hide())
	o.hold(later)
}

// open opens the owner's file, or a file that another process left, or a new file.
func (o *owner) open() (t contents, err error) {
	if err := o.folder.enter(lockEvery); err != nil {
		return t, err
	}
	if o.claim != nil {
		o.store, t, err = openClaimed(o.claim, expect{o.runID, o.feed.known(), o.uncertain, o.fault}, o.log)
		return t, err
	}
	paths, err := o.folder.files()
	if err != nil {
		return t, err
	}
	for _, path := range paths {
		c := claimOld(path)
		if c == nil {
			continue
		}
		if o.store, t, err = openClaimed(c, nothing(o.runID), o.log); err == nil {
			o.claim = c
			return t, nil
		}
		c.release()
		break // use a new file; adopt tries the others later
	}
	c, err := o.folder.claimNew(filePrefix, fileSuffix)
	if err != nil {
		return t, err
	}
	if o.store, t, err = openClaimed(c, nothing(o.runID), o.log); err != nil {
		c.remove()
		return t, err
	}
	o.claim = c
	return t, nil
}
