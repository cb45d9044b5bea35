package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
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

// turn is a lock whose wait a context can end.
type turn chan struct{}

// wait acquires the turn. Call done to release it.
func (t turn) wait(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t turn) done() { <-t }

// background is the context of the writer's statements. A caller's context would interrupt
// the transaction for all others.
var background = context.Background()
