package spool

import (
	"time"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/internal/envelope"
	"github.com/footfall-dev/footfall/internal/retry"
	"github.com/footfall-dev/footfall/internal/wire"
)

// Config.Next gives back events that have failed, and events that it does not send because others of their kind
// have failed. They wait in memory as long as there is room. The others wait in the file only, which is read again
// from its beginning when Next probably sends them.

const (
	// failedEvents and failedBytes bound the failed events in memory.
	failedEvents = 50_000
	failedBytes  = 16 << 20

	// unsentEvents and unsentBytes bound the events in memory that were never sent. A kind has at most as much of
	// the room as is free, so that one that fails for long leaves room for others.
	unsentEvents = 1024
	unsentBytes  = 1 << 20

	// waitKinds is the number of shares of that room. Kinds share one by their hash.
	waitKinds = 256

	// reloadMin, reloadMax and reloadShare bound the time between two readings of the file. Reading takes up to a
	// tenth of the time, or more if a reading takes longer than reloadMax.
	reloadMin   = time.Second
	reloadMax   = time.Minute
	reloadShare = 9
)

// waiting is why an event of the file is in memory, if it has been taken before.
type waiting uint8

const (
	notWaiting waiting = iota
	unsentWaits
	failedWaits
)

// waits counts the events that wait in memory.
type waits struct {
	failed, unsent count
	kinds          [waitKinds]kindWaits
}

// kindWaits counts the events of a kind that were never sent.
type kindWaits struct {
	unsent  count
	skipped bool // some are in the file only; newer ones stay there, too, because they come after these
}

// count counts events and their bytes.
type count struct{ events, bytes int }

func (c *count) fits(events, bytes int) bool { return c.events < events && c.bytes < bytes }

func (c *count) add(events, bytes int) { c.events, c.bytes = c.events+events, c.bytes+bytes }

// move counts an event as waiting in another way.
func (w *waits) move(it *item, to waiting) {
	w.add(it, -1)
	it.waits = to
	w.add(it, 1)
}

func (w *waits) add(it *item, n int) {
	switch bytes := n * it.length(); it.waits {
	case unsentWaits:
		w.unsent.add(n, bytes)
		w.kinds[it.share].unsent.add(n, bytes)
	case failedWaits:
		w.failed.add(n, bytes)
	}
}

// fits reports whether there is room in memory for an event.
func (w *waits) fits(it *item, as waiting) bool {
	if as == failedWaits {
		return w.failed.fits(failedEvents, failedBytes)
	}
	k := &w.kinds[it.share]
	return !k.skipped && k.unsent.fits(unsentEvents-w.unsent.events, unsentBytes-w.unsent.bytes)
}

// keep reports whether an event of the file that has failed, or that must wait because others
// have, stays in memory. Otherwise it stays in the file, if that can be read.
func (f *feed) keep(it *item, r *footfall.Record, failed bool) bool {
	as := unsentWaits
	if failed || it.waits == failedWaits {
		as = failedWaits
	}
	if it.waits == notWaiting {
		it.share = shareOf(r.Body)
	}
	switch {
	case f.end.closed && it.failures >= closingAttempts:
		it.taken = false
		f.waits.move(it, notWaiting)
		return false
	case it.waits == notWaiting && !f.waits.fits(it, as) && !f.stats.Degraded:
		f.leaveInFile(it, as)
		return false
	case it.waits == notWaiting:
		r.Key, r.Body = envelope.Clone(r.Key, r.Body)
		it = f.separate(it, r)
	}
	f.waits.move(it, as)
	if f.file.skipped && f.waits.unsent.fits(unsentEvents/4, unsentBytes/4) {
		f.readAgain()
	}
	return true
}

// separate replaces an event by a copy with the key and body of r, and returns the copy. The items of a transaction are
// one allocation. An item of it that waits for long would keep the others alive, and the blocks of their bodies.
func (f *feed) separate(it *item, r *footfall.Record) *item {
	own := *it
	own.rec.Key, own.rec.Body = r.Key, r.Body
	f.out[own.rec.ID] = &own
	return &own
}

// leaveInFile leaves an event in the file only.
func (f *feed) leaveInFile(it *item, as waiting) {
	delete(f.out, it.rec.ID)
	f.file.inFileOnly++
	if as == unsentWaits {
		f.file.skipped, f.waits.kinds[it.share].skipped = true, true
	}
}

// shareOf returns the share of the kind of an event.
func shareOf(body []byte) uint8 {
	k := retry.NewKind(wire.SiteAndName(body))
	return uint8((k.Site ^ k.Name) % waitKinds)
}

// progress is how far the file has been read into memory.
type progress struct {
	loaded     uint64    // records below are in memory or have ended
	last       uint64    // last key
	behind     bool      // there are records from loaded on
	inFileOnly int       // events that were taken and are in the file only
	skipped    bool      // one of them was never sent
	reload     bool      // the file should be read again for them
	reading    bool      // it is
	began      time.Time // when that began
	after      time.Time // when it may begin again
}

// read notes that the file was read to its end.
func (p *progress) read(now time.Time) {
	if p.reading {
		p.reading = false
		p.after = now.Add(max(reloadMin, min(reloadShare*now.Sub(p.began), reloadMax)))
	}
}

// reloadAfter notes that Next has settled an event. If it had waited, Next probably sends those of its kind that are
// in the file only. They come after the ones in memory.
func (f *feed) reloadAfter(it *item) {
	if k := &f.waits.kinds[it.share]; it.waits != notWaiting && k.skipped && k.unsent.fits(unsentEvents/8, unsentBytes/8) {
		f.readAgain()
	}
}

// readAgain asks the owner to read the file again.
func (f *feed) readAgain() {
	f.file.reload = true
	f.wake()
}

// reloadAt returns when the file should be read again from its beginning, or false.
func (f *feed) reloadAt() (at time.Time, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.file.after, f.reloads()
}

// reloads reports whether the file should be read again: if Next probably sends events that are in the file only, or
// if there is room for them.
func (f *feed) reloads() bool {
	p := &f.file
	return p.inFileOnly > 0 && !p.behind && len(f.ended) < windowEvents && !f.end.closed &&
		(p.reload || !p.skipped && f.waits.failed.fits(failedEvents/2, failedBytes/2))
}

// reload begins to read the file again, if it should be by now.
func (f *feed) reload(now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.reloads() || f.file.after.After(now) {
		return
	}
	for it, ok := f.window.TakeOldest(); ok; it, ok = f.window.TakeOldest() {
		if it.isInMemoryOnly() {
			f.again = append(f.again, it)
			continue
		}
		delete(f.out, it.rec.ID) // it comes after older ones
	}
	f.file = progress{last: f.file.last, behind: true, reading: true, began: now}
	for i := range f.waits.kinds {
		f.waits.kinds[i].skipped = false
	}
}
