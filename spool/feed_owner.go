package spool

import (
	"slices"
	"time"

	"github.com/footfall-dev/footfall"
)

// The owner calls the methods in this file. The methods in feed.go implement footfall.Store.

// clockNow returns the clock's reading.
func (f *feed) clockNow() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.clock.at(time.Now())
}

// load adds a record of the file to the window. It returns false if the window is full. keep
// copies the body, which is mapped memory.
func (f *feed) load(r *record, run uint64, now time.Time, keep func([]byte) []byte) (more bool, counted int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.full() {
		return false, 0
	}
	f.file.loaded = r.key + 1
	it := &item{rec: r.rec, key: r.key, size: r.size, stored: r.stored, own: r.run == run}
	if same := f.out[r.rec.ID]; same != nil {
		if same.key != r.key { // a second copy, left by an interrupted adoption
			f.ended = append(f.ended, parcel{r.key, r.size})
		}
		return true, 0
	}
	if f.file.reading && slices.ContainsFunc(f.ended, func(p parcel) bool { return p.key == r.key }) {
		return true, 0
	}
	if f.tooOld(it, now) {
		return true, f.expire(it)
	}
	it.rec.Key, it.rec.Body = keep(r.rec.Key), keep(r.rec.Body)
	f.push(it)
	f.ready()
	return true, 0
}

// atEnd notes whether the window was read to the end of the file.
func (f *feed) atEnd(yes bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.file.behind = !yes
	if yes {
		f.file.read(time.Now())
		f.signal() // no events may be left when the tracker closes
	}
}

// wants returns the first key that the owner should read.
func (f *feed) wants() (from uint64, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.file.loaded, f.low()
}

// stored adds new records of the file to the window. Records that do not fit are read from the
// file later.
func (f *feed) stored(items []*item) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(items) == 0 {
		return
	}
	for _, it := range items {
		f.own.live++
		if f.file.behind || f.full() {
			f.file.behind = true
			continue
		}
		f.file.loaded = it.key + 1
		f.push(it)
	}
	f.ready()
}

// adopted counts records that were copied into the file.
func (f *feed) adopted(n int, s *store) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.file.behind = true
	f.copyCounts(s)
	f.stats.Adopted += uint64(n)
}

// committed notes a transaction that has removed the first of the ended records.
func (f *feed) committed(s *store, ended int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = append(f.ended[:0], f.ended[ended:]...)
	f.copyCounts(s)
}

// copyCounts copies the counts of the file.
func (f *feed) copyCounts(s *store) {
	f.stats.Events, f.stats.Bytes = uint64(s.events), uint64(s.bytes)
	f.file.last = s.next - 1
}

// endings returns ended records that are still in the file, at most for one transaction. hurry
// reports whether a Flush waits.
func (f *feed) endings() (ended []parcel, hurry bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ended[:min(len(f.ended), maxRemoved)], len(f.flushes) > 0
}

// dropOldest ends the oldest event in memory that is not in flight, and returns its size.
// Failed events are older than unsent ones.
func (f *feed) dropOldest() (size int, ok bool) {
	f.mu.Lock()
	it := f.reclaim()
	if it == nil {
		if it = f.oldest(); it == nil {
			f.mu.Unlock()
			return 0, false
		}
		f.window.TakeOldest()
	}
	f.stats.Dropped++
	counted := f.endEvent(it)
	f.mu.Unlock()
	f.moved(counted, footfall.OutcomeLost)
	return it.size, true
}

// reclaim takes back the oldest event of the file that has failed and waits for its next
// attempt. It offers events that are in memory only to Next again.
func (f *feed) reclaim() *item {
	for {
		r, _, ok := f.next.Reclaim()
		if !ok {
			return nil
		}
		it := f.out[r.ID]
		switch {
		case it == nil:
		case it.key != 0:
			return it
		default:
			it.taken = false
			f.push(it)
			f.ready()
		}
	}
}

// endedBytes returns the size of ended records that are still in the file.
func (f *feed) endedBytes() (n int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.ended {
		n += int64(p.size)
	}
	return n
}

// endedEvents returns the number of ended records that are still in the file.
func (f *feed) endedEvents() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.ended)
}

func (f *feed) hasEnded() bool { return f.endedEvents() > 0 }

// known returns the keys of the file's records that are in memory or have ended. Until the file is
// opened again, no others are in the file only.
func (f *feed) known() map[uint64]bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	keys := make(map[uint64]bool, len(f.out)+len(f.ended))
	for _, it := range f.out {
		keys[it.key] = true
	}
	for _, p := range f.ended {
		keys[p.key] = true
	}
	return keys
}

// oldest returns the first event of the window if it is in the file.
func (f *feed) oldest() *item {
	if it, ok := f.window.Oldest(); ok && it.key != 0 {
		return it
	}
	return nil
}

// sweep ends the first events of the window that are too old. It returns how many events have
// expired so far.
func (f *feed) sweep(now time.Time) uint64 {
	f.mu.Lock()
	counted := 0
	for it := f.oldest(); it != nil && f.tooOld(it, now); it = f.oldest() {
		f.window.TakeOldest()
		counted += f.expire(it)
	}
	expired := f.stats.Expired
	f.mu.Unlock()
	f.moved(counted, footfall.OutcomeLost)
	return expired
}

// expose adds events to the window that are not in the file. If large is true, they can never
// be.
func (f *feed) expose(records []footfall.Record, large bool) {
	if len(records) == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range records {
		f.push(&item{rec: r, large: large})
	}
	f.ready()
}

// hide takes back events that are neither in the file nor in flight. Delayed events are due at
// once, or after they are written.
func (f *feed) hide() (records []footfall.Record) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.window.Return(f.reclaimAll(), (*item).length)
	records = f.takeMemory()
	f.ready()
	return records
}

// takeExposed takes back events that are not in the file and that Next has not taken. Next does
// not stop until returnedExposed is called.
func (f *feed) takeExposed() []footfall.Record {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.end.storing = true
	return f.takeMemory()
}

func (f *feed) returnedExposed() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.end.storing = false
	f.ready()
}

// takeMemory takes the events of the window that are in memory only.
func (f *feed) takeMemory() (records []footfall.Record) {
	for _, it := range f.window.TakeIf((*item).isInMemoryOnly) {
		delete(f.out, it.rec.ID)
		records = append(records, it.rec)
	}
	return records
}

// reclaimAll takes back all delayed events.
func (f *feed) reclaimAll() (items []*item) {
	for r, _, ok := f.next.Reclaim(); ok; r, _, ok = f.next.Reclaim() {
		if it := f.out[r.ID]; it != nil {
			if it.key != 0 {
				it.rec = r // with its count of attempts
			}
			it.taken = false
			items = append(items, it)
		}
	}
	return items
}

// abandon settles events that are in memory only as Lost, when Next has returned.
func (f *feed) abandon(err error) {
	f.mu.Lock()
	f.window.TakeIf(func(*item) bool { return true })
	lost := f.direct
	f.direct = nil
	for id, it := range f.out {
		if it.isInMemoryOnly() {
			delete(f.out, id)
			lost = append(lost, it.rec)
		}
	}
	f.mu.Unlock()
	if len(lost) > 0 {
		f.src.Settle(lost, footfall.OutcomeLost, err)
	}
}

// roomy reports whether the window has room for events that are in memory only.
func (f *feed) roomy() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.full()
}

func (f *feed) failed() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stats.Degraded = true
	f.signal()
}

// opened notes the contents of a file that was opened for the first time, or again.
func (f *feed) opened(s *store, t *contents, first bool) {
	f.mu.Lock()
	f.stats.Degraded = false
	f.stats.Corrupt += uint64(t.damaged)
	if first {
		f.clock.set(t.clock)
		f.stats.Adopted += uint64(t.events)
	}
	f.file.behind = t.events > 0
	f.copyCounts(s)
	lost := f.lost(t)
	f.mu.Unlock()
	f.moved(lost, footfall.OutcomeLost)
}

// lost returns how many events of this run were in a file that is gone.
func (f *feed) lost(t *contents) int {
	here := uint64(t.own)
	for _, it := range f.out {
		if it.own {
			here++
		}
	}
	if here >= f.own.live {
		return 0
	}
	lost := f.own.live - here
	f.own.live = here
	return int(lost)
}

func (f *feed) corrupt(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stats.Corrupt += uint64(n)
}

// tick offers the events again that Next has given up.
func (f *feed) tick() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.retake()
}

func (f *feed) waitsAgain() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.again) > 0
}

func (f *feed) read() Stats {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.stats
}

func (f *feed) await() *flush {
	f.mu.Lock()
	defer f.mu.Unlock()
	fl := &flush{target: f.file.last, done: make(chan struct{})}
	f.flushes = append(f.flushes, fl)
	return fl
}

func (f *feed) leave(fl *flush) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.flushes = slices.DeleteFunc(f.flushes, func(o *flush) bool { return o == fl })
}

// answer ends the calls to Flush whose events have ended.
func (f *feed) answer() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.flushes) == 0 {
		return
	}
	open := f.firstOpen()
	f.flushes = slices.DeleteFunc(f.flushes, func(fl *flush) bool {
		if fl.target >= open {
			return false
		}
		close(fl.done)
		return true
	})
}

// firstOpen returns the smallest key in the file, or less.
func (f *feed) firstOpen() uint64 {
	if f.file.inFileOnly > 0 {
		return 0 // at most
	}
	first := uint64(none)
	if f.file.behind {
		first = f.file.loaded
	}
	for _, it := range f.out {
		if it.key != 0 {
			first = min(first, it.key)
		}
	}
	for _, p := range f.ended {
		first = min(first, p.key)
	}
	return first
}
