package spool

import (
	"slices"
	"time"

	"github.com/footfall-dev/footfall"
)

// What the owner of the file does to the feed.

// load puts a record of the file into the window and returns false when the window is
// full. keep copies its body, which is mapped memory.
func (f *feed) load(r *record, run uint64, now time.Time, keep func([]byte) []byte) (more bool, told int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.full() {
		return false, 0
	}
	f.loaded = r.key + 1
	it := &item{rec: r.rec, key: r.key, size: r.size, stored: r.stored, own: r.run == run}
	if same := f.out[r.rec.ID]; same != nil {
		if same.key != r.key { // a second copy, which an interrupted adoption leaves
			f.ended = append(f.ended, parcel{r.key, r.size})
		}
		return true, 0
	}
	if f.reading && slices.ContainsFunc(f.ended, func(p parcel) bool { return p.key == r.key }) {
		return true, 0
	}
	if f.tooOld(it, now) {
		return true, f.expire(it)
	}
	it.rec.Body = keep(r.rec.Body)
	f.push(it)
	f.ready()
	return true, 0
}

// atEnd notes that the window was read to the end of the file, or that it was not.
func (f *feed) atEnd(yes bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.behind = !yes
	if yes {
		f.reading = false
		f.signal() // it may be the end of all when the tracker closes
	}
}

// wants returns from where the owner should read on.
func (f *feed) wants() (from uint64, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.loaded, f.low()
}

// stored takes new records of the file. Those that the window has no room for are read
// from the file when their turn comes.
func (f *feed) stored(items []*item) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(items) == 0 {
		return
	}
	for _, it := range items {
		f.ownLive++
		if f.behind || f.full() {
			f.behind = true
			continue
		}
		f.loaded = it.key + 1
		it.came = time.Now()
		f.push(it)
	}
	f.ready()
}

// adopted is told of records that were copied into the file.
func (f *feed) adopted(n int, s *store) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.behind = true
	f.note(s)
	f.stats.Adopted += uint64(n)
}

// committed is told of a transaction, after which the first of those that have ended are
// not in the file.
func (f *feed) committed(s *store, ended int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = append(f.ended[:0], f.ended[ended:]...)
	f.note(s)
	f.wakeSleepers()
}

// note takes the counts of the file.
func (f *feed) note(s *store) {
	f.stats.Events, f.stats.Bytes = uint64(s.events), uint64(s.bytes)
	f.last = s.next - 1
}

// endings returns what has ended and is in the file, at most a transaction's worth, and
// whether somebody waits for it.
func (f *feed) endings() (ended []parcel, hurry bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ended[:min(len(f.ended), maxRemoved)], len(f.flushes) > 0
}

// dropOldest ends the oldest event that is not on its way, if there is one in memory, and
// returns its size. One that has failed is older than those that were not sent.
func (f *feed) dropOldest() (size int, ok bool) {
	f.mu.Lock()
	it := f.reclaim()
	if it == nil {
		if it = f.oldest(); it == nil {
			f.mu.Unlock()
			return 0, false
		}
		f.pop()
	}
	f.stats.Dropped++
	told := f.end(it)
	f.mu.Unlock()
	f.moved(told, footfall.Lost)
	return it.size, true
}

// reclaim takes back the oldest event of the file that has failed and waits for its next
// attempt. Those that are in the tracker's memory only are handed out again.
func (f *feed) reclaim() *item {
	for {
		r, ok := f.next.Reclaim()
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

// endedBytes returns how much there is of what has ended and is in the file.
func (f *feed) endedBytes() (n int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.ended {
		n += int64(p.size)
	}
	return n
}

// endedEvents returns how many events have ended and are in the file.
func (f *feed) endedEvents() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.ended)
}

func (f *feed) hasEnded() bool { return f.endedEvents() > 0 }

// position returns the first key that was not loaded.
func (f *feed) position() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.loaded
}

// oldest returns the first event of the window if it is one of the file.
func (f *feed) oldest() *item {
	if len(f.window) == 0 || f.window[0].key == 0 {
		return nil
	}
	return f.window[0]
}

// sweep ends the events at the front that are too old, and returns how many have expired
// so far.
func (f *feed) sweep(now time.Time) uint64 {
	f.mu.Lock()
	told := 0
	for it := f.oldest(); it != nil && f.tooOld(it, now); it = f.oldest() {
		f.pop()
		told += f.expire(it)
	}
	expired := f.stats.Expired
	f.mu.Unlock()
	f.moved(told, footfall.Lost)
	return expired
}

// expose hands out events that are not in the file. Large ones can never be.
func (f *feed) expose(records []footfall.Record, large bool) {
	if len(records) == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range records {
		f.push(&item{rec: r, large: large, came: time.Now()})
	}
	f.ready()
}

// hide takes events back that are not in the file and not on their way. Those that wait
// for another attempt are tried again at once, or after they are in the file.
func (f *feed) hide() (records []footfall.Record) {
	f.mu.Lock()
	defer f.mu.Unlock()
	window := append(f.reclaimAll(), f.window...)
	f.window, f.bytes = nil, 0
	for _, it := range window {
		if it.key == 0 {
			delete(f.out, it.rec.ID)
			records = append(records, it.rec)
			continue
		}
		f.push(it)
	}
	f.ready()
	return records
}

// reclaimAll takes back all events that wait for another attempt.
func (f *feed) reclaimAll() (items []*item) {
	for r, ok := f.next.Reclaim(); ok; r, ok = f.next.Reclaim() {
		if it := f.out[r.ID]; it != nil {
			if it.key != 0 {
				it.rec = r // which knows how often it has failed
			}
			it.taken = false
			items = append(items, it)
		}
	}
	return items
}

// abandon ends what is in memory only, when Next has returned.
func (f *feed) abandon(err error) {
	f.mu.Lock()
	f.window, f.bytes = nil, 0
	lost := f.direct
	f.direct = nil
	for id, it := range f.out {
		if it.key == 0 {
			delete(f.out, id)
			lost = append(lost, it.rec)
		}
	}
	f.mu.Unlock()
	if len(lost) > 0 {
		f.src.Settle(lost, footfall.Lost, err)
	}
}

// roomy reports whether events that are in memory only may be added.
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

// opened is told what a file holds that was opened for the first time, or again.
func (f *feed) opened(s *store, t *tally, first bool) {
	f.mu.Lock()
	f.stats.Degraded = false
	f.stats.Corrupt += uint64(t.damaged)
	if first {
		f.clock.set(t.clock)
		f.stats.Adopted += uint64(t.events)
	}
	f.behind = t.events > 0
	f.note(s)
	lost := f.lost(t)
	f.mu.Unlock()
	f.moved(lost, footfall.Lost)
}

// lost returns how many events that this run had stored were in a file that is gone.
func (f *feed) lost(t *tally) int {
	here := uint64(t.own)
	for _, it := range f.out {
		if it.own {
			here++
		}
	}
	if here >= f.ownLive {
		return 0
	}
	lost := f.ownLive - here
	f.ownLive = here
	return int(lost)
}

func (f *feed) corrupt(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stats.Corrupt += uint64(n)
}

// tick hands out again what Next has given up.
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
