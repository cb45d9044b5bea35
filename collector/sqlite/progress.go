package sqlite

import (
	"sync"

	"github.com/footfall-dev/footfall/collector/store"
)

// progress is how far the compactor is with its work.
type progress struct {
	mu    sync.Mutex
	of    store.Backlog // of the current round; zero between two
	ended bool          // the first round, with what was due when the store was opened
}

// begin notes that there are days to compute.
func (p *progress) begin(days int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.of = store.Backlog{Days: days}
}

// packed notes that a segment of this many events was made.
func (p *progress) packed(events int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.of.Events += int64(events)
}

// next notes that a day is done.
func (p *progress) next() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.of.Done++
	p.of.Events = 0
}

// end notes that a round is done, or cannot be done now.
func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.of, p.ended = store.Backlog{}, true
}

// left returns how many days of the current round are not done.
func (p *progress) left() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.of.Days - p.of.Done
}

// backlog returns how far the first round is, or false if it has ended.
func (p *progress) backlog() (of store.Backlog, some bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.of, !p.ended
}
