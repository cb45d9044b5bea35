package spool

import (
	"runtime/debug"
	"time"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/internal/envelope"
)

// removeAfter is how long ended records may wait for other records or for the next transaction.
// removeMany ended records do not wait. After a crash, they are sent a second time with the same
// id.
const (
	removeAfter = 50 * time.Millisecond
	removeMany  = 128
)

// takeEvents moves events from the tracker's queue to held. It reports whether there are any.
func (o *owner) takeEvents() bool {
	var some [64]footfall.Record
	for o.mayTake() {
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

func (o *owner) mayTake() bool {
	switch {
	case o.store == nil:
		return o.closing || o.feed.roomy()
	case !o.closing && !o.due.Swap(false) && len(o.held) == 0:
		return false
	}
	return len(o.held) < maxEvents && o.heldBytes < maxTransaction
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
	items, ok := o.prepare(n, ended)
	if !ok {
		o.rescue()
		return o.write() // the others, which are on the heap now
	}
	if err := o.store.commit(&o.change); err != nil {
		o.fail(err)
		o.expose()
		return false
	}
	o.feed.committed(o.store, len(ended)) // before Settle, so that a Flush after it sees the new key
	if n > 0 {
		o.src.Settle(o.held[:n], footfall.OutcomeStored, nil)
		o.release(n)
	}
	o.feed.stored(items) // after Settle, because an event must be Stored before Next settles it
	if n > 0 && (len(o.held) > 0 || o.due.Load()) {
		o.wakeOwner() // if nothing was written, the feed wakes the owner when there is room
	}
	return len(o.held) == 0
}

// release drops the first n held records.
func (o *owner) release(n int) {
	for i := range n {
		o.heldBytes -= sizeOf(&o.held[i])
	}
	rest := copy(o.held, o.held[n:])
	clear(o.held[rest:])
	o.held = o.held[:rest]
}

// rescue copies the held records out of the tracker's queue, whose memory has a fault. Those that
// cannot be read are lost.
func (o *owner) rescue() {
	held := o.held[:0]
	o.heldBytes = 0
	for _, r := range o.held {
		if kept, ok := o.src.Keep(r, nil); ok {
			held = append(held, kept)
			o.heldBytes += sizeOf(&kept)
		}
	}
	clear(o.held[len(held):])
	o.held = held
}

// prepare sets o.change to add the first n held records and to remove ended. It returns the
// items of the added records, or false if the memory of a record has a fault.
func (o *owner) prepare(n int, ended []parcel) (items []*item, ok bool) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if v := recover(); v != nil {
			if _, fault := v.(interface{ Addr() uintptr }); !fault {
				panic(v)
			}
			items, ok = nil, false
		}
	}()
	c := &o.change
	c.keys, c.values, c.remove, o.keys = c.keys[:0], c.values[:0], c.remove[:0], o.keys[:0]
	items = make([]*item, n)
	parts := make([]item, n)
	now := o.feed.clockNow()
	for i := range n {
		r := &o.held[i]
		key := o.store.next + uint64(i)
		o.keys = appendKey(o.keys, key)
		v := encode(o.arena.room(sizeOf(r)), key, o.runID, now, r)
		c.values = append(c.values, v)
		parts[i] = item{rec: footfall.Record{ID: r.ID}, key: key, size: len(v), stored: now, own: true}
		parts[i].rec.Key, parts[i].rec.Body = envelope.Split(v[headerSize:])
		items[i] = &parts[i]
	}
	for i := range n {
		c.keys = append(c.keys, o.keys[keySize*i:keySize*(i+1)])
	}
	for _, p := range ended {
		c.remove = append(c.remove, p.key)
	}
	return items, true
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
