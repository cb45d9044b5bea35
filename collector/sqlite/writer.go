package sqlite

import (
	"cmp"
	"context"
	"runtime"
	"time"

	"github.com/footfall-dev/footfall/collector/store"
)

// Limits of the writer's queue and of a transaction.
const (
	queueLength = 4096
	batchLength = 4096
)

// maxYields is how often the writer lets other goroutines run before a transaction. Callers whose
// events were just committed add their next ones, which then share the transaction: otherwise
// callers split into two halves that wait for each other.
const maxYields = 3

// job is a request to the writer: to add an event, or to run a function in its own
// transaction.
type job struct {
	ctx   context.Context // the caller's
	event *store.Event
	run   func(*writer) error
	alone bool       // run needs no transaction
	done  chan error // of length 1, so that the writer never blocks
}

// Add implements store.Store.
func (s *Store) Add(ctx context.Context, e store.Event) error {
	return s.do(&job{ctx: ctx, event: &e})
}

// write runs a function in a transaction.
func (s *Store) write(ctx context.Context, run func(*writer) error) error {
	return s.do(&job{ctx: ctx, run: run})
}

// do sends j to the writer and waits for its commit.
func (s *Store) do(j *job) error {
	if err := s.enter(j.ctx); err != nil {
		return err
	}
	j.done = make(chan error, 1)
	select {
	case s.queue <- j:
	case <-j.ctx.Done():
		return j.ctx.Err()
	case <-s.quit:
		return store.ErrClosed
	}
	select {
	case err := <-j.done:
		return err
	case <-j.ctx.Done():
		return j.ctx.Err()
	case <-s.stopped:
	}
	select {
	case err := <-j.done: // answered before the writer stopped
		return err
	default: // queued after the writer stopped
		return store.ErrClosed
	}
}

// run serves the queue until Close, and then the jobs that are left.
func (w *writer) run() {
	defer close(w.stopped)
	defer func() { _ = w.close() }() // everything is committed
	for {
		select {
		case j := <-w.queue:
			w.serve(j)
		case <-w.quit:
			for len(w.queue) > 0 {
				w.serve(<-w.queue)
			}
			return
		}
	}
}

// serve commits the waiting events, starting with j, or runs j.
func (w *writer) serve(j *job) {
	for j != nil {
		w.next = nil
		if j.run != nil {
			w.answer(j, w.runAlone(j))
		} else {
			w.gather(j)
			w.commit()
		}
		j = w.next
	}
}

// gather fills the batch until no event is waiting and CommitEvery has passed.
func (w *writer) gather(first *job) {
	w.batch = append(w.batch[:0], first)
	var pause <-chan time.Time
	if left := w.every - time.Since(w.last); w.every > 0 && left > 0 {
		pause = time.After(left)
	}
	yields := 0
	for len(w.batch) < batchLength && w.next == nil {
		select {
		case j := <-w.queue:
			w.receive(j)
			continue
		default:
		}
		if pause == nil {
			if yields == maxYields {
				return
			}
			yields++
			runtime.Gosched()
			continue
		}
		select {
		case j := <-w.queue:
			w.receive(j)
		case <-pause:
			return
		case <-w.quit:
			return
		}
	}
	if pause != nil && w.next != nil { // other jobs do not shorten CommitEvery
		select {
		case <-pause:
		case <-w.quit:
		}
	}
}

// receive adds an event to the batch. Another job has to wait for its commit.
func (w *writer) receive(j *job) {
	if j.run != nil {
		w.next = j
		return
	}
	w.batch = append(w.batch, j)
}

// commit adds the batch in one transaction and answers its callers. If it fails, none of the
// events was added.
func (w *writer) commit() {
	began := time.Now()
	err := w.transact(func() error {
		for _, j := range w.batch {
			if j.ctx.Err() != nil {
				j.event = nil // the caller has given up
				continue
			}
			if err := w.addEvent(j.event); err != nil {
				return err
			}
		}
		return w.removeStale()
	})
	w.commits.Add(1)
	w.last = time.Now()
	if w.onCommit != nil {
		w.onCommit(len(w.batch), w.last.Sub(began))
	}
	for _, j := range w.batch {
		if j.event == nil {
			w.answer(j, j.ctx.Err())
		} else {
			w.answer(j, err)
		}
	}
	clear(w.batch)
}

func (w *writer) answer(j *job, err error) {
	if err != nil {
		w.noteBroken(err)
		err = cmp.Or(j.ctx.Err(), error(&fileError{w.file, err}))
	}
	j.done <- err
}

// runAlone runs a job that is not an event, unless its caller has given up.
func (w *writer) runAlone(j *job) error {
	if err := j.ctx.Err(); err != nil {
		return err
	}
	if j.alone {
		return j.run(w)
	}
	return w.transact(func() error { return j.run(w) })
}
