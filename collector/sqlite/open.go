// Package sqlite is the embedded engine behind store.Store: one SQLite file, written by
// one goroutine whose transactions many callers share, and read by a pool beside it.
//
// # Durability
//
// The file is in WAL mode with synchronous=FULL: each commit ends with an fsync of the
// log, and only then does Add return. So an event that was acknowledged survives the end
// of the process and of the machine. synchronous=NORMAL would be faster and survive
// kill -9, but not a loss of power: it syncs the log at checkpoints only.
//
// # Figures
//
// Beside the events the store keeps what reports are made of: rollups, which are the
// totals and tables of closed UTC days, and pieces, which are the columns of some
// thousand events each, packed for reports that look at single events and for the day
// that is open. Both are made in the background, and are there only while they are exact:
// a transaction that adds to their span removes them. A report takes what is there and
// reads the events of the rest one by one, so its figures are the same either way.
package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	_ "modernc.org/sqlite" // the driver, in Go alone

	"github.com/footfall-dev/footfall/collector/store"
)

var _ store.Store = (*Store)(nil)

// Config says where a Store lies.
type Config struct {
	// File is the path of the database. Its directory is made for the owner alone if
	// there is none; three more files lie beside it while it is open. Required.
	File string

	// Now is the clock by which keys are forgotten and days are closed.
	// Defaults to time.Now.
	Now func() time.Time

	// IdempotencyWindow is how long the Key of an event is remembered, from one minute to
	// 30 days. An event that is sent again later counts twice, so raise it to what
	// senders keep events for, such as the MaxAge of a spool. Each key of 36 characters
	// takes about 110 bytes of the file, for as long. Another window may be set each
	// time the file is opened. Defaults to 24 hours, which is store.DuplicateFor.
	IdempotencyWindow time.Duration

	// Logger is told what no caller can be told. Defaults to slog.Default().
	Logger *slog.Logger

	// CommitEvery is the least time from one commit to the next: raise it to spare a
	// disk that is slow to sync; each Add then takes up to that much longer.
	// Defaults to 0: a commit follows the other.
	CommitEvery time.Duration

	pieceLength int // of tests
}

// Store is safe for concurrent use.
type Store struct {
	file   string
	now    func() time.Time
	logger *slog.Logger
	window time.Duration // for which keys are remembered

	locking *sql.DB // of one connection, which holds the lock
	writing *sql.DB // of one connection, the writer's
	reading *sql.DB

	queue   chan *job
	closed  atomic.Bool
	quit    chan struct{} // closed by Close
	stopped chan struct{} // closed by the writer when it has committed all it took

	commits    atomic.Int64 // transactions of the writer that added events
	texts      texts
	forgetting turn

	due     due
	pieces  int                // how long they are
	keeping turn               // to make pieces and rollups
	retire  context.CancelFunc // ends the keeper
	retired chan struct{}      // closed by the keeper
}

// writerPragmas make commits last, overwrite what is removed, and let the log grow to 16 MB before it is copied
// into the file, and to 64 MB while a report is reading.
const writerPragmas = "&_pragma=synchronous(full)&_pragma=wal_autocheckpoint(4000)&_pragma=journal_size_limit(67108864)&_pragma=secure_delete(1)"

// readers is how many reports are computed at once; more of them wait.
const readers = 4

// Open opens the file or makes a new one. A file that is not a collector's, is damaged
// or was written by a newer version is an error, and is left as it is.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	if cfg.File == "" {
		return nil, errors.New("sqlite: Config.File is required")
	}
	window := cmp.Or(cfg.IdempotencyWindow, store.DuplicateFor)
	if window < store.MinDuplicateFor || window > store.MaxDuplicateFor {
		return nil, fmt.Errorf("sqlite: Config.IdempotencyWindow: %v is not from %v to %v", window, store.MinDuplicateFor, store.MaxDuplicateFor)
	}
	s := &Store{
		file:    cfg.File,
		now:     cfg.Now,
		logger:  cmp.Or(cfg.Logger, slog.Default()),
		window:  window,
		queue:   make(chan *job, queueLength),
		quit:    make(chan struct{}),
		stopped: make(chan struct{}),

		forgetting: make(turn, 1),
		pieces:     cmp.Or(cfg.pieceLength, pieceLength),
		keeping:    make(turn, 1),
		retired:    make(chan struct{}),
	}
	if s.now == nil {
		s.now = time.Now
	}
	if err := s.open(ctx, cfg.CommitEvery); err != nil {
		return nil, &fileError{s.file, err}
	}
	return s, nil
}

func (s *Store) open(ctx context.Context, commitEvery time.Duration) (err error) {
	if err := makeFile(s.file); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.closeFiles())
		}
	}()
	if err := s.lock(ctx); err != nil {
		return err
	}
	if s.writing, err = sql.Open("sqlite", dsn(s.file)+writerPragmas); err != nil {
		return err
	}
	if err := migrate(ctx, s.writing); err != nil {
		return err
	}
	if s.reading, err = sql.Open("sqlite", dsn(s.file)+"&mode=ro&_pragma=query_only(1)"); err != nil {
		return err
	}
	s.reading.SetMaxOpenConns(readers)
	s.reading.SetMaxIdleConns(readers)
	w, err := newWriter(ctx, s, commitEvery)
	if err != nil {
		return err
	}
	go w.run()
	keeping, retire := context.WithCancel(background)
	s.retire = retire
	s.due.anything()
	go s.keepUp(keeping)
	return nil
}

// makeFile makes the file and its directory if need be, readable by their owner alone:
// left to itself SQLite would heed the umask only.
func makeFile(file string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// dsn names the file so that no character of its path is taken for a parameter.
func dsn(file string) string {
	if absolute, err := filepath.Abs(file); err == nil {
		file = filepath.ToSlash(absolute)
	}
	u := url.URL{Scheme: "file", OmitHost: true, Path: file}
	return u.String() + "?_pragma=busy_timeout(5000)&_pragma=foreign_keys(1)&_pragma=cache_size(-16000)&_pragma=trusted_schema(0)"
}

// fileError is an error of SQLite's or the disk's, with the name of the file.
type fileError struct {
	file string
	err  error
}

func (e *fileError) Error() string { return "sqlite: " + e.file + ": " + e.err.Error() }
func (e *fileError) Unwrap() error { return e.err }

// failed returns what a caller is told of err, which came up in a report.
func (s *Store) failed(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err() // SQLite calls it an interrupt
	case s.closed.Load():
		return store.ErrClosed
	}
	if _, named := errors.AsType[*fileError](err); named {
		return err
	}
	return &fileError{s.file, err}
}

// enter is the beginning of every method that takes a context.
func (s *Store) enter(ctx context.Context) error {
	if s.closed.Load() {
		return store.ErrClosed
	}
	return ctx.Err()
}

// turn lets one goroutine at a time do something.
type turn chan struct{}

// wait returns when it is the caller's turn, which ends with done.
func (t turn) wait(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t turn) done() { <-t }

// Close implements store.Store.
func (s *Store) Close() error {
	if s.closed.Swap(true) {
		return store.ErrClosed
	}
	s.retire()
	close(s.quit)
	<-s.stopped
	<-s.retired
	if err := s.closeFiles(); err != nil {
		return &fileError{s.file, err}
	}
	return nil
}

// closeFiles closes the writer's connection after the readers': then it can empty the
// log, in which what was removed may still stand.
func (s *Store) closeFiles() error {
	var errs []error
	for _, db := range []*sql.DB{s.reading, s.writing, s.locking} {
		if db == nil {
			continue
		}
		if db == s.writing {
			_, err := db.ExecContext(background, "PRAGMA wal_checkpoint(TRUNCATE)")
			errs = append(errs, err)
		}
		errs = append(errs, db.Close())
	}
	return errors.Join(errs...)
}
