package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/footfall-dev/footfall/collector/store"
)

var _ store.Store = (*Store)(nil)

// Store is safe for concurrent use.
type Store struct {
	file     string
	now      func() time.Time
	logger   *slog.Logger
	window   time.Duration                        // how long keys are remembered
	onCommit func(events int, took time.Duration) // may be nil

	locking *fileLock
	writing *sql.DB // one connection, the writer's
	reading *sql.DB

	queue   chan *job
	closed  atomic.Bool
	closing context.Context // ended by stop
	stop    context.CancelFunc
	quit    chan struct{} // closed by Close
	stopped chan struct{} // closed by the writer after its last commit

	broken atomic.Pointer[error] // the first that was found

	commits    atomic.Int64 // transactions that added events
	texts      texts
	forgetting turn
	decoding   chan struct{} // has room for the goroutines that decode

	segmentLength int  // events in a segment
	segmentProps  int  // bytes of props in a segment
	maxPropBytes  int  // bytes of the tables of a report
	counting      turn // held while counting the props of a day
	due           due
	damage        damage
	compacting    turn          // held while making segments and rollups
	compactorDone chan struct{} // closed by the compactor
}

// failed returns the error of a report for its caller.
func (s *Store) failed(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err() // SQLite reports an interrupt
	case s.closed.Load():
		return store.ErrClosed
	}
	s.noteBroken(err)
	if _, named := errors.AsType[*fileError](err); named {
		return err
	}
	return &fileError{s.file, err}
}

// enter starts every method that takes a context.
func (s *Store) enter(ctx context.Context) error {
	if s.closed.Load() {
		return store.ErrClosed
	}
	return ctx.Err()
}

var _ store.Inspector = (*Store)(nil)

// Damage implements store.Inspector. The error names the file. It stays until the store is opened
// again.
func (s *Store) Damage() error {
	if err := s.broken.Load(); err != nil {
		return *err
	}
	return nil
}

// Put implements store.Store.
func (s *Store) Put(ctx context.Context, kind string, rec store.Record) error {
	data := append([]byte{}, rec.Data...) // not NULL, and not shared with the caller
	return s.write(ctx, func(w *writer) error {
		_, err := w.conn.ExecContext(background, "INSERT OR REPLACE INTO record VALUES (?, ?, ?)", kind, rec.ID, data)
		return err
	})
}

// Remove implements store.Store.
func (s *Store) Remove(ctx context.Context, kind, id string) error {
	return s.write(ctx, func(w *writer) error {
		_, err := w.conn.ExecContext(background, "DELETE FROM record WHERE kind = ? AND id = ?", kind, id)
		return err
	})
}

// Records implements store.Store.
func (s *Store) Records(ctx context.Context, kind string) ([]store.Record, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	var all []store.Record
	err := s.view(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
		all, err = recordsOf(ctx, tx, kind)
		return err
	})
	return all, s.failed(ctx, err)
}

// Scrub erases removed data from all files of the store: it copies the overwritten pages from
// the log into the file and empties the log. It does not wait for reports, because that would
// block all writes: while a report is being read it returns store.ErrBusy.
func (s *Store) Scrub(ctx context.Context) error {
	return s.do(&job{ctx: ctx, run: (*writer).scrub, alone: true})
}

// Sites implements store.Store.
func (s *Store) Sites(ctx context.Context) (names []string, err error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	r := &reading{s: s, ctx: ctx}
	err = r.state(func() error {
		ids, err := r.sites()
		if err != nil {
			return err
		}
		texts, err := r.textsOf(ids)
		for _, id := range ids {
			names = append(names, texts[id])
		}
		return err
	})
	slices.Sort(names)
	return names, s.failed(ctx, err)
}

// Backup implements store.Store.
func (s *Store) Backup(ctx context.Context, file string) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	return s.failed(ctx, Backup(ctx, s.file, file))
}
