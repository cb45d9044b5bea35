package spool

import (
	"context"
	"errors"
	"time"

	"github.com/footfall-dev/footfall"
)

const (
	// maxEvents, maxTransaction and maxRemoved bound a transaction in events, bytes and removed
	// records.
	maxEvents      = 1024
	maxTransaction = 1 << 20
	maxRemoved     = 4096

	// removeAfter is how long ended records may wait for other records or for the next
	// transaction. removeMany ended records do not wait. After a crash, they are sent a second
	// time with the same id.
	removeAfter = 50 * time.Millisecond
	removeMany  = 128

	// retryMin and retryMax bound the wait before a file that failed is tried again.
	retryMin = time.Second
	retryMax = 30 * time.Second
)

// owner is the state of the only goroutine that uses the file.
type owner struct {
	*Spool
	src   *footfall.Source
	claim *claim
	store *store // nil while the file cannot be used

	next      uint64 // key
	uncertain uint64 // first key of a transaction that failed
	fault     error  // of a file that must be replaced
	held      []footfall.Record
	heldBytes int
	arena     arena
	change    change
	keys      []byte

	closing  bool
	handed   bool // the feed is closing, too
	fresh    bool // no file was opened yet
	retryAt  time.Time
	delay    time.Duration
	oldest   time.Time // when the first ended record was seen
	swept    time.Time
	shrunk   time.Time // last attempt to shrink the file
	again    time.Time // when an event that Next gave up was seen
	adoption *adoption
	scanned  time.Time       // last search of the directory
	orphans  []string        // files found then and not tried yet
	shunned  map[string]bool // files that could not be opened
	told     notices
}

// run returns when all events of the tracker are settled or in the file.
func (o *owner) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	closing := o.src.Closing()
	for {
		o.step()
		timer.Reset(o.pause())
		select {
		case <-o.wake:
		case <-timer.C:
		case <-closing:
			closing, o.closing, o.retryAt = nil, true, time.Time{}
		case <-o.nextStopped:
			o.waitForClose(ctx)
			o.finish()
			return
		}
	}
}

// waitForClose stores events until the tracker closes, if Next has returned before.
func (o *owner) waitForClose(ctx context.Context) {
	if o.handed || ctx.Err() != nil {
		return
	}
	o.log.Error("spool: Config.Next has stopped: events are stored and not delivered")
	for !o.handed && ctx.Err() == nil {
		select {
		case <-o.wake:
		case <-o.src.Closing():
			o.closing = true
		case <-ctx.Done():
		case <-time.After(o.pause()):
		}
		o.step()
	}
}

// step does all work that is due.
func (o *owner) step() {
	o.reopen()
	o.hold(o.feed.failedDirect())
	o.sweep()
	for o.takeEvents() && o.write() && o.closing {
	}
	o.write()
	o.fill()
	o.handAgain()
	o.adopt()
	o.shrink()
	o.handOver()
	o.feed.answer()
}

// takeEvents moves events from the tracker's queue to held. It reports whether there are any.
func (o *owner) takeEvents() bool {
	var some [64]footfall.Record
	for o.wants() {
		n := o.src.Take(some[:])
		if n == 0 {
			break
		}
		o.hold(some[:n])
		if o.store == nil {
			o.expose()
		}
	}
	if len(o.held) >= maxEvents || o.heldBytes >= maxTransaction {
		o.due.Store(true) // there may be more, and the queue signals a batch only once
	}
	return len(o.held) > 0
}

func (o *owner) wants() bool {
	switch {
	case o.store == nil:
		return o.closing || o.feed.roomy()
	case !o.closing && !o.due.Swap(false) && len(o.held) == 0:
		return false
	}
	return len(o.held) < maxEvents && o.heldBytes < maxTransaction
}

// hold keeps the tracker's records until they are written. It exposes a record that is larger
// than MaxBytes.
func (o *owner) hold(records []footfall.Record) {
	for i := range records {
		size := headerSize + len(records[i].Body)
		if int64(size) > o.cfg.MaxBytes {
			o.feed.expose(records[i:i+1], true)
			continue
		}
		o.heldBytes += size
		o.held = append(o.held, records[i])
	}
}

// expose passes events to Next that are not in the file.
func (o *owner) expose() {
	o.feed.expose(o.held, false)
	o.held, o.heldBytes = nil, 0
}

// write adds held records and removes ended records in one transaction. It reports whether it
// wrote all held records.
func (o *owner) write() bool {
	if o.store == nil {
		o.expose()
		return false
	}
	n := o.makeRoom()
	if n > 0 {
		o.removeSurplus()
	}
	ended := o.endings(n > 0)
	if o.store == nil || n == 0 && len(ended) == 0 {
		return false
	}
	items := o.prepare(n, ended)
	if err := o.store.commit(&o.change); err != nil {
		o.fail(err)
		o.expose()
		return false
	}
	o.advance(n)
	o.feed.committed(o.store, len(ended)) // before Settle, so that a Flush after it sees the new key
	if n > 0 {
		o.src.Settle(o.held[:n], footfall.Stored, nil)
		o.release(n)
	}
	o.feed.stored(items) // after Settle, because an event must be Stored before Next settles it
	if n > 0 && (len(o.held) > 0 || o.due.Load()) {
		o.wakeOwner() // if nothing was written, the feed wakes the owner when there is room
	}
	return len(o.held) == 0
}

// advance marks n keys as used.
func (o *owner) advance(n int) {
	o.next += uint64(n)
	o.store.next = o.next
}

// release drops the first n held records.
func (o *owner) release(n int) {
	for i := range n {
		o.heldBytes -= headerSize + len(o.held[i].Body)
	}
	rest := copy(o.held, o.held[n:])
	clear(o.held[rest:])
	o.held = o.held[:rest]
}

// prepare sets o.change to add the first n held records and to remove ended. It returns the
// items of the added records.
func (o *owner) prepare(n int, ended []parcel) []*item {
	c := &o.change
	c.keys, c.values, c.remove, o.keys = c.keys[:0], c.values[:0], c.remove[:0], o.keys[:0]
	items := make([]*item, n)
	parts := make([]item, n)
	now := o.feed.clockNow()
	for i := range n {
		r := &o.held[i]
		key := o.next + uint64(i)
		o.keys = appendKey(o.keys, key)
		v := encode(o.arena.room(headerSize+len(r.Body)), key, o.runID, now, r)
		c.values = append(c.values, v)
		parts[i] = item{rec: footfall.Record{ID: r.ID, Body: v[headerSize:]}, key: key, size: len(v), stored: now, own: true}
		items[i] = &parts[i]
	}
	for i := range n {
		c.keys = append(c.keys, o.keys[keySize*i:keySize*(i+1)])
	}
	for _, p := range ended {
		c.remove = append(c.remove, p.key)
	}
	return items
}

// endings returns the records to remove now: all of them if another transaction is made anyway.
func (o *owner) endings(anyway bool) []parcel {
	ended, hurry := o.feed.endings()
	if len(ended) == 0 {
		o.oldest = time.Time{}
		return nil
	}
	if o.oldest.IsZero() {
		o.oldest = time.Now()
	}
	if anyway || hurry || o.closing || len(ended) >= removeMany || time.Since(o.oldest) >= removeAfter {
		o.oldest = time.Time{}
		return ended
	}
	return nil
}

// fill reads events from the file while the window has room.
func (o *owner) fill() {
	for o.store != nil {
		from, ok := o.feed.wants()
		if !ok {
			return
		}
		now, told := time.Now(), 0
		seen := 0
		more, err := o.store.read(from, func(k, v []byte) error {
			r, err := decode(k, v)
			if err != nil {
				return err
			}
			more, n := o.feed.load(&r, o.runID, now, o.keep)
			told += n
			if seen++; !more || seen > maxEvents {
				return errEnough
			}
			return nil
		})
		o.feed.moved(told, footfall.Lost)
		if err != nil {
			o.fail(err)
			return
		}
		o.feed.atEnd(!more)
		if more {
			o.wakeOwner() // expired records are removed before more are read
			return
		}
	}
}

func (o *owner) keep(body []byte) []byte { return append(o.arena.room(len(body)), body...) }

// handAgain offers events again that Next gave up lookAgain ago.
func (o *owner) handAgain() {
	switch {
	case !o.feed.waitsAgain():
		o.again = time.Time{}
	case o.again.IsZero():
		o.again = time.Now()
	case time.Since(o.again) >= lookAgain:
		o.again = time.Time{}
		o.feed.tick()
	}
}

// handOver closes the feed when the tracker closes and its queue is empty.
func (o *owner) handOver() {
	if !o.closing || o.handed {
		return
	}
	for o.expose(); o.takeEvents(); o.expose() { // the file may have no room
	}
	o.handed = true
	o.feed.close()
}

// finish stores the remaining events and closes the file.
func (o *owner) finish() {
	o.closing = true
	if o.store != nil {
		o.hide()
	}
	for o.takeEvents() && o.write() {
	}
	for o.store != nil && o.feed.hasEnded() && o.write() {
	}
	o.expose()
	o.feed.abandon(errNextStopped)
	o.stopAdopting()
	o.noteClock(noteEvery)
	if o.store != nil {
		if o.store.events > 0 {
			o.log.Info("spool: events stay in the file until the next start", "events", o.store.events, "dir", o.cfg.Dir)
		}
		o.store.close()
	}
	if o.claim != nil {
		o.claim.release()
	}
	o.folder.leave()
}

// pause returns the time until the next step, unless something wakes the owner.
func (o *owner) pause() time.Duration {
	now := time.Now()
	wait := o.sweepEvery()
	if o.store == nil {
		wait = min(wait, o.retryAt.Sub(now))
	}
	if o.store != nil && o.feed.hasEnded() {
		wait = min(wait, o.oldest.Add(removeAfter).Sub(now)) // zero or less if oldest is not set
	}
	if !o.again.IsZero() {
		wait = min(wait, o.again.Add(lookAgain).Sub(now))
	}
	if o.scans() {
		wait = min(wait, o.scanned.Add(scanEvery).Sub(now))
	}
	return max(wait, 0)
}

// fail closes the file, which cannot be used.
func (o *owner) fail(err error) {
	first := o.delay == 0
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
	o.told.down(o.log, o.cfg.Dir, err)
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
	o.next = max(o.next, t.last+1)
	o.store.next = o.next
	o.uncertain, o.fault = none, nil
	clear(o.shunned) // they may be usable again
	o.scanned = time.Time{}
	o.feed.opened(o.store, &t, o.fresh)
	o.hide()
	o.fresh = false
	o.delay = 0
	o.told.up(o.log, o.cfg.Dir)
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
		o.store, t, err = o.openClaimed(o.claim, expect{o.runID, o.feed.position(), o.uncertain, o.fault})
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
		if o.store, t, err = o.openClaimed(c, nothing(o.runID)); err == nil {
			o.claim = c
			return t, nil
		}
		c.release()
		break // use a new file; adopt tries the others later
	}
	c, err := o.folder.claimNew()
	if err != nil {
		return t, err
	}
	if o.store, t, err = o.openClaimed(c, nothing(o.runID)); err != nil {
		c.remove()
		return t, err
	}
	o.claim = c
	return t, nil
}
