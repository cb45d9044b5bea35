package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"runtime"
	"sync/atomic"
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
	added bool // event is not a duplicate
	none  bool // no ID is left for a text of event
	run   func(*connection) error
	alone bool       // run needs no transaction
	done  chan error // of length 1, so that the writer never blocks
}

// writer owns the goroutine that writes, and its queue.
type writer struct {
	file     *file
	db       *sql.DB // its one connection is conn
	every    time.Duration
	onCommit func(events int, took time.Duration) // may be nil

	queue   chan *job
	stopped chan struct{} // closed by run after its last commit
	commits atomic.Int64  // transactions that added events

	// Of the goroutine.
	conn  *connection
	batch []*job
	next  *job // taken from the queue, but not part of this batch
	last  time.Time
}

// writerPragmas make commits durable and overwrite removed data. They let the log grow to
// 16 MB before a checkpoint, and to 64 MB while a report is reading.
const writerPragmas = "&_pragma=synchronous(full)&_pragma=wal_autocheckpoint(4000)&_pragma=journal_size_limit(67108864)&_pragma=secure_delete(1)"

// newWriter migrates the file. changed is called after each transaction with the days that it
// changed, in a map that is then reused.
func newWriter(ctx context.Context, f *file, cfg *Config, changed func(map[siteDay]change)) (*writer, error) {
	db, err := sql.Open("sqlite", dsn(f.path)+writerPragmas)
	if err != nil {
		return nil, err
	}
	w := &writer{
		file: f, db: db, every: cfg.CommitEvery, onCommit: cfg.OnCommit,
		queue: make(chan *job, queueLength), stopped: make(chan struct{}),
	}
	if err = migrate(ctx, cfg, db); err == nil {
		w.conn, err = newConnection(ctx, db, f.path, cfg, changed)
	}
	if err == nil {
		err = w.conn.claim(ctx)
		if isFull(err) {
			cfg.Logger.Error("sqlite: the disk is full, so nothing can be stored until it has space", "file", f.path)
			err = nil
		}
	}
	if err != nil {
		return nil, errors.Join(err, w.close())
	}
	return w, nil
}

// close empties the log. No goroutine may use the writer or a reader any more.
func (w *writer) close() error {
	if w.conn != nil {
		_ = w.conn.close() // everything is committed
	}
	_, err := w.db.ExecContext(background, "PRAGMA wal_checkpoint(TRUNCATE)")
	return errors.Join(err, w.db.Close())
}

// add adds an event unless it is a duplicate.
func (w *writer) add(ctx context.Context, e *store.Event) (added bool, err error) {
	j := &job{ctx: ctx, event: e}
	if err := w.do(j); err != nil { // the writer may still be using j
		return false, err
	}
	return j.added, nil
}

// write runs a function in a transaction.
func (w *writer) write(ctx context.Context, run func(*connection) error) error {
	return w.do(&job{ctx: ctx, run: run})
}

// exec runs a statement in a transaction.
func (w *writer) exec(ctx context.Context, statement string, args ...any) error {
	return w.write(ctx, func(c *connection) error { return c.exec(statement, args...) })
}

func (w *writer) scrub(ctx context.Context) error {
	return w.do(&job{ctx: ctx, run: (*connection).scrub, alone: true})
}

// do sends j to the writer and waits for its commit.
func (w *writer) do(j *job) error {
	if err := w.file.enter(j.ctx); err != nil {
		return err
	}
	j.done = make(chan error, 1)
	select {
	case w.queue <- j:
	case <-j.ctx.Done():
		return j.ctx.Err()
	case <-w.file.closing.Done():
		return store.ErrClosed
	}
	select {
	case err := <-j.done:
		return err
	case <-j.ctx.Done():
		return j.ctx.Err()
	case <-w.stopped:
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
	for {
		select {
		case j := <-w.queue:
			w.serve(j)
		case <-w.file.closing.Done():
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
		case <-w.file.closing.Done():
			return
		}
	}
	if pause != nil && w.next != nil { // other jobs do not shorten CommitEvery
		select {
		case <-pause:
		case <-w.file.closing.Done():
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
	w.conn.keys.adding = len(w.batch)
	err := w.conn.transact(func() error {
		for _, j := range w.batch {
			if j.ctx.Err() != nil {
				j.event = nil // the caller has given up
				continue
			}
			var err error
			j.added, err = w.conn.addEvent(j.event)
			if j.none = errors.Is(err, errNoIDs); err != nil && !j.none {
				return err
			}
		}
		return w.conn.changes.removeStale()
	})
	w.commits.Add(1)
	w.last = time.Now()
	if w.onCommit != nil {
		w.onCommit(len(w.batch), w.last.Sub(began))
	}
	for _, j := range w.batch {
		switch {
		case j.event == nil:
			w.answer(j, j.ctx.Err())
		case err == nil && j.none:
			w.answer(j, errNoIDs)
		default:
			w.answer(j, err)
		}
	}
	clear(w.batch)
}

func (w *writer) answer(j *job, err error) {
	if err != nil {
		w.file.noteBroken(err)
		err = cmp.Or(j.ctx.Err(), w.file.named(err))
	}
	j.done <- err
}

// runAlone runs a job that is not an event, unless its caller has given up.
func (w *writer) runAlone(j *job) error {
	if err := j.ctx.Err(); err != nil {
		return err
	}
	if j.alone {
		return j.run(w.conn)
	}
	return w.conn.transact(func() error { return j.run(w.conn) })
}
