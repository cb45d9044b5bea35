package relay

import (
	"slices"
	"sync"
	"time"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/internal/window"
	"github.com/footfall-dev/footfall/outbox/internal/rows"
)

// feed is the footfall.Store of a Relay: the rows that it has claimed.
type feed struct {
	src     *footfall.Source
	maxHeld int           // rows
	maxBody int           // of an event
	wait    time.Duration // before a row that fails may be claimed again, if there is no room
	longest time.Duration // of these waits
	changed chan struct{} // of capacity 1: a row is settled or has failed
	settled func(row string, o footfall.Outcome)

	mu       sync.Mutex
	items    map[footfall.EventID]*item
	waiting  window.Window[*item]
	rejected []*item
	changes  rows.Changes // that are not written
	stuck    bool         // rejected rows cannot be moved
	closed   bool
	stats    Stats
}

// item is a row that this process has claimed.
type item struct {
	rec    footfall.Record
	row    rows.Row
	until  time.Time // of the lease, by the clock of this process, which began to count before the claim
	state  state
	status int // of a rejected row
	code   string
	reason string
}

type state uint8

const (
	waits   state = iota
	out           // taken, or held by the Source
	refused       // to be moved to the rejected events
	ended         // in the changes
)

var _ footfall.Store = (*feed)(nil)

func newFeed(cfg *Config) *feed {
	f := &feed{
		maxHeld: cfg.MaxHeld, maxBody: cfg.MaxBody, wait: cfg.Lease, longest: cfg.MaxWait, settled: cfg.Settled,
		changed: make(chan struct{}, 1), items: make(map[footfall.EventID]*item),
	}
	f.src = footfall.NewSource(f)
	return f
}

// signal wakes the goroutine that receives from c.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default: // it has not looked since the last one
	}
}

// put adds claimed rows.
func (f *feed) put(claimed []rows.Row, until time.Time) {
	f.mu.Lock()
	for i := range claimed {
		f.add(&item{row: claimed[i], until: until})
	}
	f.mu.Unlock()
	f.src.Wake()
}

// add adds a row. A row that the process has already was claimed again after its lease.
func (f *feed) add(it *item) {
	f.stats.Claimed++
	rec, reason := recordOf(&it.row, f.maxBody)
	if old := f.items[rec.ID]; old != nil && old.row.ID == it.row.ID {
		f.stats.Repeated++
		old.until = it.until
		return
	}
	it.rec = rec
	if _, taken := f.items[rec.ID]; taken || rec.ID == (footfall.EventID{}) {
		it.rec.ID = randomID()
	}
	it.row.Body = nil // it is in rec
	f.items[it.rec.ID] = it
	switch {
	case f.closed:
		f.giveBack(it, 0)
	case reason != "":
		it.code, it.reason = notAnEvent, reason
		f.refuse(it)
	default:
		f.waiting.Add(it, len(it.rec.Body))
	}
}

// Waiting implements footfall.Store.
func (f *feed) Waiting() (n int, more bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.waiting.Len(), !f.closed
}

// Take implements footfall.Store. A row whose lease is over is not sent: another process has it, perhaps.
func (f *feed) Take(dst []footfall.Record) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for n < len(dst) {
		it, ok := f.waiting.TakeOldest()
		if !ok {
			break
		}
		if !time.Now().Before(it.until) {
			f.stats.Returned++
			delete(f.items, it.rec.ID)
			continue
		}
		it.state = out
		dst[n] = it.rec
		n++
	}
	return n
}

// Retry implements footfall.Store. While the Relay closes, the row is given back.
func (f *feed) Retry(r footfall.Record, _ error) (kept footfall.Record, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	it := f.items[r.ID]
	if it == nil || it.state != out {
		return r, false
	}
	if f.closed {
		f.giveBack(it, 0)
		return r, false
	}
	signal(f.changed)
	return r, true
}

// Settle implements footfall.Store.
func (f *feed) Settle(records []footfall.Record, o footfall.Outcome, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range records {
		it := f.items[records[i].ID]
		if it == nil || it.state != out {
			continue
		}
		if f.settled != nil && o != footfall.OutcomeLost {
			f.settled(it.row.ID, o)
		}
		switch o {
		case footfall.OutcomeLost:
			f.giveBack(it, 0)
		case footfall.OutcomeRejected:
			it.status, it.code, it.reason = reasonOf(err)
			f.refuse(it)
		default:
			it.state = ended
			f.stats.Delivered++
			f.changes.Delivered = append(f.changes.Delivered, it.row.ID)
		}
	}
	signal(f.changed)
}

// giveBack lets the row be claimed again after a time.
func (f *feed) giveBack(it *item, after time.Duration) {
	it.state = ended
	f.stats.Returned++
	if after == 0 {
		f.changes.Free = append(f.changes.Free, it.row.ID)
	} else {
		if f.changes.Later == nil {
			f.changes.Later = make(map[time.Duration][]string)
		}
		f.changes.Later[after] = append(f.changes.Later[after], it.row.ID)
	}
	signal(f.changed)
}

func (f *feed) refuse(it *item) {
	it.state = refused
	f.rejected = append(f.rejected, it)
	signal(f.changed)
}

// pending returns how many changes are not written, and how many rejected rows are not moved.
func (f *feed) pending() (changes, rejected int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.changes.Len(), len(f.rejected)
}

// take takes the changes to write them. They go to written, or to notWritten.
func (f *feed) take() rows.Changes {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.changes
	f.changes = rows.Changes{}
	return c
}

// written forgets the rows of changes.
func (f *feed) written(c *rows.Changes) {
	f.mu.Lock()
	defer f.mu.Unlock()
	gone := slices.Concat(c.Delivered, c.Free)
	for _, ids := range c.Later {
		gone = append(gone, ids...)
	}
	for _, id := range gone {
		f.forget(id)
	}
}

// forget forgets a row. The key of an item is the id of its row, unless that is no UUID.
func (f *feed) forget(row string) {
	id, _ := parseID(row)
	if it := f.items[id]; it != nil && it.row.ID == row {
		delete(f.items, id)
		return
	}
	for id, it := range f.items {
		if it.row.ID == row {
			delete(f.items, id)
		}
	}
}

// notWritten takes changes back.
func (f *feed) notWritten(c *rows.Changes) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.changes.Delivered = append(c.Delivered, f.changes.Delivered...)
	f.changes.Free = append(c.Free, f.changes.Free...)
	for wait, ids := range c.Later {
		if f.changes.Later == nil {
			f.changes.Later = make(map[time.Duration][]string)
		}
		f.changes.Later[wait] = append(ids, f.changes.Later[wait]...)
	}
}

// leased returns the ids of the rows whose leases must not end.
func (f *feed) leased() (ids []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, it := range f.items {
		if it.state != ended {
			ids = append(ids, it.row.ID)
		}
	}
	slices.Sort(ids) // processes lock rows in one order
	return ids
}

// extended notes that the leases of all rows last longer.
func (f *feed) extended(until time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, it := range f.items {
		if it.until.Before(until) {
			it.until = until
		}
	}
}

// room returns how many rows may be claimed, and whether all that are held have failed, must wait or are in
// flight.
func (f *feed) room() (free int, stuck bool) {
	due, _ := f.src.Waiting()
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.maxHeld - len(f.items), due == 0
}

// makeRoom gives rows back that have failed, or that are rejected and cannot be moved, until there is room for
// least others. A row waits longer each time, and as long as the API has asked for. quick says that the API accepts nothing: the rows wait for a
// short time only, because all are due when it is back.
func (f *feed) makeRoom(least int, quick bool) {
	for free, _ := f.room(); free < least; free++ {
		r, due, ok := f.src.Reclaim()
		f.mu.Lock()
		it := f.items[r.ID]
		if !ok {
			it, ok = f.unmoved()
		}
		if ok && it != nil {
			wait := f.wait << max(0, min(it.row.Claims-1, mostDoublings))
			if quick {
				wait = min(f.wait, quickWait)
			}
			f.giveBack(it, min(max(wait, left(due)), f.longest))
		}
		f.mu.Unlock()
		if !ok {
			return
		}
	}
}

// left returns the time until due, in whole seconds, so that many rows wait equally long.
func left(due time.Time) time.Duration {
	return (time.Until(due) + time.Second - 1).Truncate(time.Second)
}

const (
	mostDoublings = 3               // of the wait of a row that was given back
	quickWait     = 5 * time.Second // the same while the API accepts nothing
)

// unmoved takes the last rejected row, if rejected rows cannot be moved.
func (f *feed) unmoved() (it *item, ok bool) {
	last := len(f.rejected) - 1
	if !f.stuck || last < 0 {
		return nil, false
	}
	it = f.rejected[last]
	f.rejected = f.rejected[:last]
	return it, true
}

// takeRejected takes up to n rejected rows. They go to moved or notMoved.
func (f *feed) takeRejected(n int) []*item {
	f.mu.Lock()
	defer f.mu.Unlock()
	n = min(n, len(f.rejected))
	taken := slices.Clone(f.rejected[:n])
	f.rejected = slices.Delete(f.rejected, 0, n)
	return taken
}

func (f *feed) moved(items []*item) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stuck = false
	for _, it := range items {
		f.stats.Rejected++
		delete(f.items, it.rec.ID)
	}
}

// notMoved queues rows behind the others, because one of them may be the reason.
func (f *feed) notMoved(items []*item) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stuck = true
	f.rejected = append(f.rejected, items...)
}

// close gives every row back that is not in flight.
func (f *feed) close() {
	f.mu.Lock()
	f.closed = true
	for _, it := range f.waiting.TakeIf(func(*item) bool { return true }) {
		f.giveBack(it, 0)
	}
	f.mu.Unlock()
	for r, _, ok := f.src.Reclaim(); ok; r, _, ok = f.src.Reclaim() {
		f.mu.Lock()
		if it := f.items[r.ID]; it != nil {
			f.giveBack(it, 0)
		}
		f.mu.Unlock()
	}
	f.src.Close()
}

// abandon gives every remaining row back, except those that are rejected.
func (f *feed) abandon() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, it := range f.items {
		if it.state == out {
			f.giveBack(it, 0)
		}
	}
}

func (f *feed) read() Stats {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.stats
	for _, it := range f.items {
		if it.state != ended {
			s.Held++
		}
	}
	return s
}
