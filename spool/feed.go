package spool

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/footfall-dev/footfall"
)

const (
	// windowEvents and windowBytes bound what is read from the file ahead of
	// Config.Next. What Next has taken comes on top.
	windowEvents = 1024
	windowBytes  = 1 << 20

	// lookAgain is when Next is told again of events that it has not taken, and when
	// one that it gave up is handed to it again.
	lookAgain = time.Second

	// enoughLost events in a row that Next gives up while the tracker closes mean that
	// the API does not answer. The others in the file are safe where they are.
	enoughLost = 16
)

// item is an event in memory.
type item struct {
	rec    footfall.Record // its Body is the tracker's if key is zero, else the item's
	key    uint64          // in the file; zero if it is not there
	size   int             // in the file
	stored time.Duration   // what the clock of the file showed then
	own    bool            // tracked by this run, and settled as Stored
	taken  bool
}

// parcel is a record that has ended, and is in the file still.
type parcel struct {
	key  uint64
	size int
}

// feed is the Source that Config.Next takes events from: those that the owner has put into
// its window. The owner goes by its mutex too.
type feed struct {
	src     footfall.Source
	maxAge  time.Duration
	wake    func() // the owner
	kick    chan struct{}
	closing chan struct{}

	mu       sync.Mutex
	window   []*item // not taken, oldest first
	bytes    int     // of window
	out      map[uuid.UUID]*item
	again    []*item // given up by Next, to be handed out again
	ended    []parcel
	loaded   uint64 // every record of the file below is in memory or has ended
	last     uint64 // key given out
	behind   bool   // there are records from loaded on
	due      bool
	clock    clock
	closed   bool
	over     bool // nothing more of the file is handed out
	lostRow  int
	ownLive  uint64 // stored by this run and not ended
	passedOn uint64 // of this run, Stored by Next
	stats    Stats
	flushes  []*flush
}

var _ footfall.Source = (*feed)(nil)

func newFeed(maxAge time.Duration, wake func()) *feed {
	return &feed{
		maxAge:  maxAge,
		wake:    wake,
		clock:   clock{begun: time.Now()},
		kick:    make(chan struct{}, 1),
		closing: make(chan struct{}),
		out:     make(map[uuid.UUID]*item),
	}
}

// Wait implements footfall.Source.
func (f *feed) Wait(ctx context.Context) (waiting int, ok bool) {
	for {
		n, known, idle := f.look()
		if known {
			return n, n > 0
		}
		again := lookAgain
		if idle {
			again = time.Hour
		}
		if !f.pause(ctx, again) {
			return 0, false
		}
	}
}

// pause returns false when ctx has ended.
func (f *feed) pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-f.kick:
	case <-timer.C:
		f.mu.Lock()
		f.due = true
		f.mu.Unlock()
	case <-ctx.Done():
		return false
	}
	return true
}

// look returns the number of events if they are due. Zero with known true says that
// there will be no more.
func (f *feed) look() (waiting int, known, idle bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := len(f.window)
	switch {
	case f.closed && n == 0 && (f.over || !f.behind || f.stats.Degraded):
		f.signal() // whoever else is in Wait
		return 0, true, false
	case n == 0 || !f.due:
		return 0, false, n == 0
	}
	f.due = false
	return n, true, false
}

func (f *feed) signal() {
	select {
	case f.kick <- struct{}{}:
	default:
	}
}

// Take implements footfall.Source.
func (f *feed) Take(dst []footfall.Record) int {
	f.mu.Lock()
	var gone int
	n, now := 0, time.Now()
	for n < len(dst) {
		it := f.pop()
		if it == nil {
			break
		}
		if f.over && it.key != 0 {
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
	if f.closed && len(f.window) == 0 {
		f.signal()
	}
	f.mu.Unlock()
	f.moved(gone, footfall.Lost)
	return n
}

// low reports whether the owner should read on.
func (f *feed) low() bool {
	return f.behind && !f.over && len(f.window) < windowEvents/2 && f.bytes < windowBytes/2
}

func (f *feed) full() bool { return len(f.window) >= windowEvents || f.bytes >= windowBytes }

// pop takes the oldest event out of the window.
func (f *feed) pop() *item {
	if len(f.window) == 0 {
		return nil
	}
	it := f.window[0]
	f.window[0] = nil
	f.window = f.window[1:]
	f.bytes -= len(it.rec.Body)
	return it
}

func (f *feed) push(it *item) {
	f.window = append(f.window, it)
	f.bytes += len(it.rec.Body)
	f.out[it.rec.ID] = it
}

// expire ends an event, and returns how many the tracker must be told of.
func (f *feed) expire(it *item) int {
	f.stats.Expired++
	return f.end(it)
}

// end notes that an event of the file has ended. It returns 1 if the tracker counts it
// as Stored and must be told.
func (f *feed) end(it *item) int {
	delete(f.out, it.rec.ID)
	f.ended = append(f.ended, parcel{it.key, it.size})
	if !it.own {
		return 0
	}
	f.ownLive--
	return 1
}

// moved is called without the lock, for the tracker has one of its own.
func (f *feed) moved(n int, o footfall.Outcome) {
	if n > 0 {
		f.src.Moved(n, o)
	}
}

// Settle implements footfall.Source.
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
		case it.key == 0:
			delete(f.out, it.rec.ID)
			direct = append(direct, it.rec)
		case o == footfall.Lost:
			f.giveBack(it)
		default:
			f.row(o)
			f.count(o)
			own += f.end(it)
		}
	}
	if o == footfall.Stored {
		f.passedOn += uint64(own)
	}
	f.wake()
	f.mu.Unlock()
	if len(direct) > 0 {
		f.src.Settle(direct, o, err)
	}
	if o != footfall.Stored {
		f.moved(own, o)
	}
}

// giveBack keeps an event of the file that Next gives up.
func (f *feed) giveBack(it *item) {
	it.taken = false
	if !f.closed {
		f.again = append(f.again, it)
		return
	}
	f.row(footfall.Lost)
}

// row counts the events of the file that Next gives up in a row.
func (f *feed) row(o footfall.Outcome) {
	if o != footfall.Lost {
		f.lostRow = 0
		return
	}
	if f.lostRow++; f.closed && f.lostRow >= enoughLost {
		f.over = true
		f.ready()
	}
}

func (f *feed) count(o footfall.Outcome) {
	switch o {
	case footfall.Delivered:
		f.stats.Delivered++
	case footfall.Rejected:
		f.stats.Rejected++
	default:
		f.stats.HandedOver++
	}
}

// Moved implements footfall.Source, for a Next that stores events itself. Which of them
// are of this run it cannot know; there are as many as it was given.
func (f *feed) Moved(n int, o footfall.Outcome) {
	f.mu.Lock()
	own := min(uint64(max(n, 0)), f.passedOn)
	f.passedOn -= own
	f.mu.Unlock()
	f.moved(int(own), o)
}

// Closing implements footfall.Source.
func (f *feed) Closing() <-chan struct{} { return f.closing }

// close is called when everything that the tracker had is in the file or in the window.
func (f *feed) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.retake()
	f.closed = true
	f.due = true
	close(f.closing)
	f.signal()
}

// retake puts what Next has given up back to the front.
func (f *feed) retake() {
	if len(f.again) == 0 {
		return
	}
	rest := f.window
	f.window = nil
	for _, it := range f.again {
		f.push(it)
	}
	f.window = append(f.window, rest...)
	f.again = nil
	f.ready()
}

func (f *feed) ready() {
	f.due = true
	f.signal()
}
