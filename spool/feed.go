package spool

import (
	"sync"
	"time"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/internal/window"
)

const (
	// windowEvents and windowBytes bound the events that are read from the file before
	// Config.Next takes them.
	windowEvents = 1024
	windowBytes  = 1 << 20

	// lookAgain is the time after which an event that Next gave up is offered again.
	lookAgain = time.Second

	// closingAttempts is how often an event of the file may fail while the tracker closes. It
	// then stays in the file until the next start.
	closingAttempts = 3

	// enoughLost is how many consecutive events Next may give up while the tracker closes. The
	// API then does not answer, and the other events stay in the file.
	enoughLost = 16
)

// item is an event in memory.
type item struct {
	rec      footfall.Record // its Body belongs to the tracker if key is zero
	key      uint64          // in the file; zero if the event is not in it
	size     int             // in the file
	stored   time.Duration   // reading of the file's clock at that time
	own      bool            // tracked by this run, and settled as Stored
	taken    bool
	large    bool // too large for the file
	waits    waiting
	share    uint8 // of its kind in waits.kinds, if it waits
	failures int
}

// length returns the bytes of the event in memory.
func (it *item) length() int { return len(it.rec.Key) + len(it.rec.Body) }

// isInMemoryOnly reports whether the event is not in the file.
func (it *item) isInMemoryOnly() bool { return it.key == 0 }

// parcel is a record that has ended and is still in the file.
type parcel struct {
	key  uint64
	size int
}

// flush is a call to Flush that waits.
type flush struct {
	target uint64 // the last key that must have ended
	done   chan struct{}
}

// feed is the Store of Config.Next's Source. Its window holds the next events, which the owner
// adds. The owner uses the feed's mutex too.
type feed struct {
	src    *footfall.Source // the tracker's
	next   *footfall.Source // Config.Next's
	maxAge time.Duration
	wake   func() // the owner

	mu      sync.Mutex
	window  window.Window[*item]       // not taken
	out     map[footfall.EventID]*item // all that are in memory
	again   []*item                    // given up by Next, to be offered again
	direct  []footfall.Record          // failed while in memory only, to be written to the file
	ended   []parcel
	file    progress
	waits   waits
	end     ending
	own     own
	clock   clock
	stats   Stats
	flushes []*flush
}

// ending is what has happened since the tracker began to close.
type ending struct {
	closed          bool
	over            bool // events of the file are no longer handed out
	consecutiveLost int  // consecutive events that Next has given up, also before
	delivered       bool // Next has delivered an event
	storing         bool // the owner has taken events of the window to write them
}

// count counts an event of the file, which Next has settled or given up.
func (e *ending) count(o footfall.Outcome) {
	if o != footfall.OutcomeLost {
		e.consecutiveLost, e.delivered = 0, e.closed
		return
	}
	e.consecutiveLost++
	e.over = e.over || e.closed && !e.delivered && e.consecutiveLost >= enoughLost
}

// own counts the events of this run that are Stored.
type own struct {
	live     uint64 // not ended
	passedOn uint64 // Stored by Next, too
}

var (
	_ footfall.Store      = (*feed)(nil)
	_ footfall.MovedStore = (*feed)(nil)
)

func newFeed(maxAge time.Duration, wake func()) *feed {
	f := &feed{maxAge: maxAge, wake: wake, clock: clock{begun: time.Now()}, out: make(map[footfall.EventID]*item)}
	f.next = footfall.NewSource(f)
	return f
}

// Waiting implements footfall.Store.
func (f *feed) Waiting() (n int, more bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n = f.window.Len()
	return n, !f.end.closed || n > 0 || f.end.storing || f.file.behind && !f.end.over && !f.stats.Degraded
}

func (f *feed) signal() { f.next.Wake() }

// Take implements footfall.Store.
func (f *feed) Take(dst []footfall.Record) int {
	f.mu.Lock()
	var gone int
	n, now := 0, time.Now()
	for n < len(dst) {
		it, ok := f.window.TakeOldest()
		if !ok {
			break
		}
		if f.end.over && it.key != 0 {
			continue // the file keeps it
		}
		if f.tooOld(it, now) {
			gone += f.expire(it)
			continue
		}
		it.taken = true
		dst[n] = it.rec
		n++
	}
	if f.low() {
		f.wake()
	}
	f.mu.Unlock()
	f.moved(gone, footfall.OutcomeLost)
	return n
}

// Retry implements footfall.Store.
func (f *feed) Retry(r footfall.Record, err error) (kept footfall.Record, ok bool) {
	f.mu.Lock()
	it := f.out[r.ID]
	known := it != nil && it.taken
	if known && f.end.closed && err != nil {
		f.countSettled(footfall.OutcomeLost)
	}
	if !known || it.isInMemoryOnly() {
		f.mu.Unlock()
		if !known {
			return r, false
		}
		return f.keepDirect(it, r, err)
	}
	gone := 0
	if f.tooOld(it, time.Now()) {
		gone = f.expire(it)
	} else {
		if err != nil {
			it.failures++
		}
		ok = f.keep(it, &r, err != nil)
	}
	f.mu.Unlock()
	f.moved(gone, footfall.OutcomeLost)
	return r, ok
}

// keepDirect keeps an event that is in the tracker's memory only. It waits for its next
// attempt, or for the owner if the file can be used again.
func (f *feed) keepDirect(it *item, r footfall.Record, err error) (kept footfall.Record, ok bool) {
	own, ok := f.src.Keep(it.rec, err) // without the lock, because the tracker takes its own
	f.mu.Lock()
	defer f.mu.Unlock()
	it.rec = own
	r.Key, r.Body = own.Key, own.Body
	if ok && !it.large && !f.end.closed && !f.stats.Degraded {
		delete(f.out, r.ID)
		f.direct = append(f.direct, own)
		f.wake()
		return r, false
	}
	return r, ok
}

// failedDirect returns the events to write to the file after a failed attempt.
func (f *feed) failedDirect() (records []footfall.Record) {
	f.mu.Lock()
	defer f.mu.Unlock()
	records, f.direct = f.direct, nil
	return records
}

// low reports whether the owner should read more events.
func (f *feed) low() bool {
	return f.file.behind && !f.end.over && f.window.Len() < windowEvents/2 && f.window.Bytes() < windowBytes/2
}

func (f *feed) full() bool { return f.window.Len() >= windowEvents || f.window.Bytes() >= windowBytes }

// push adds an event to the window.
func (f *feed) push(it *item) {
	f.window.Add(it, it.length())
	f.out[it.rec.ID] = it
}

// tooOld reports whether an event of the file is older than Config.MaxAge.
func (f *feed) tooOld(it *item, now time.Time) bool {
	return it.key != 0 && f.maxAge > 0 && f.clock.at(now)-it.stored > f.maxAge
}

// expire ends an event. It returns how many events must be reported to the tracker.
func (f *feed) expire(it *item) int {
	f.stats.Expired++
	return f.endEvent(it)
}

// endEvent notes that an event of the file has ended. It returns 1 if the tracker counts the event
// as Stored, and 0 otherwise.
func (f *feed) endEvent(it *item) int {
	delete(f.out, it.rec.ID)
	f.waits.move(it, notWaiting)
	f.ended = append(f.ended, parcel{it.key, it.size})
	if !it.own {
		return 0
	}
	f.own.live--
	return 1
}

// moved reports the outcome of stored events to the tracker. It is called without the lock,
// because the tracker takes its own.
func (f *feed) moved(n int, o footfall.Outcome) {
	if n > 0 {
		f.src.Moved(n, o)
	}
}

// Settle implements footfall.Store.
func (f *feed) Settle(records []footfall.Record, o footfall.Outcome, err error) {
	var direct []footfall.Record
	own := 0
	f.mu.Lock()
	for i := range records {
		it := f.out[records[i].ID]
		if it == nil || !it.taken {
			continue // it was settled before
		}
		switch {
		case it.isInMemoryOnly():
			delete(f.out, it.rec.ID)
			direct = append(direct, it.rec)
		case o == footfall.OutcomeLost:
			f.giveBack(it)
		default:
			f.reloadAfter(it)
			f.countSettled(o)
			f.countOutcome(o)
			own += f.endEvent(it)
		}
	}
	if o == footfall.OutcomeStored {
		f.own.passedOn += uint64(own)
	}
	f.wake()
	f.mu.Unlock()
	if len(direct) > 0 {
		f.src.Settle(direct, o, err)
	}
	if o != footfall.OutcomeStored {
		f.moved(own, o)
	}
}

// giveBack keeps an event of the file that Next gives up.
func (f *feed) giveBack(it *item) {
	it.taken = false
	f.waits.move(it, notWaiting)
	if !f.end.closed {
		f.again = append(f.again, it)
		return
	}
	f.countSettled(footfall.OutcomeLost)
}

// countSettled counts an event of the file, which Next has settled or given up.
func (f *feed) countSettled(o footfall.Outcome) {
	if f.end.count(o); f.end.over {
		f.ready()
	}
}

func (f *feed) countOutcome(o footfall.Outcome) {
	switch o {
	case footfall.OutcomeDelivered:
		f.stats.Delivered++
	case footfall.OutcomeRejected:
		f.stats.Rejected++
	default:
		f.stats.HandedOver++
	}
}

// Moved implements footfall.MovedStore. Next calls it if it stores events. It
// cannot know which events are of this run, so it counts at most as many as Next has stored.
func (f *feed) Moved(n int, o footfall.Outcome) {
	f.mu.Lock()
	own := min(uint64(max(n, 0)), f.own.passedOn)
	f.own.passedOn -= own
	f.mu.Unlock()
	f.moved(int(own), o)
}

// close is called when all events of the tracker are in the file or in the window.
func (f *feed) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.retake()
	f.end.closed = true
	f.next.Close()
}

// retake returns the events that Next has given up to the front of the window.
func (f *feed) retake() {
	if len(f.again) == 0 {
		return
	}
	f.window.Return(f.again, (*item).length)
	f.again = nil
	f.ready()
}

// ready wakes Next.
func (f *feed) ready() { f.next.Wake() }
