package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"time"

	_ "modernc.org/sqlite" // the driver, in Go alone

	"github.com/footfall-dev/footfall/collector/store"
)

// Config configures a [Store].
type Config struct {
	// File is the path of the database. If its directory does not exist, it is created,
	// readable only by its owner. While the store is open, four more files are beside it.
	// If File is a symbolic link, they are beside the file that it leads to. Open refuses a file
	// that another store has open, on Linux by any of its names. Hard links of a file that was not
	// closed do not share its log: use one name.
	// Required.
	File string

	// Now is the clock for the expiry of keys and the end of days.
	// Defaults to time.Now.
	Now func() time.Time

	// IdempotencyWindow is how long the Key of an event is remembered, from one minute to 30
	// days. A repeated event counts twice after that, so set it to at least the time for
	// which senders keep events, such as the MaxAge of a spool. Each key of 36 characters
	// takes about 110 bytes of the file during the window. The window may change at each
	// start. Defaults to 24 hours, which is store.DuplicateFor.
	IdempotencyWindow time.Duration

	// Logger logs errors of background work. Defaults to slog.Default().
	Logger *slog.Logger

	// CommitEvery is the minimum time between two commits. Raise it for a disk that is slow
	// to sync; each Add then takes up to this much longer. Defaults to 0, which commits
	// without a pause.
	CommitEvery time.Duration

	// OnCommit is called after each transaction that added events, with their number and the
	// time that the transaction took, also if it failed. It must return quickly: the next
	// transaction waits for it. Defaults to nil, which calls nothing.
	OnCommit func(events int, took time.Duration)

	segmentLength int // set by tests only
}

// writerPragmas make commits durable and overwrite removed data. They let the log grow to
// 16 MB before a checkpoint, and to 64 MB while a report is reading.
const writerPragmas = "&_pragma=synchronous(full)&_pragma=wal_autocheckpoint(4000)&_pragma=journal_size_limit(67108864)&_pragma=secure_delete(1)"

// readers is how many reports are computed concurrently.
const readers = 4

// Open opens the file or creates it. It returns an error, and does not change the file, if
// the file is not a collector's, is damaged, or was written by a newer version.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	if cfg.File == "" {
		return nil, errors.New("sqlite: Config.File is required")
	}
	window := cmp.Or(cfg.IdempotencyWindow, store.DuplicateFor)
	if window < store.MinDuplicateFor || window > store.MaxDuplicateFor {
		return nil, fmt.Errorf("sqlite: Config.IdempotencyWindow: %v is not from %v to %v", window, store.MinDuplicateFor, store.MaxDuplicateFor)
	}
	s := &Store{
		file:     resolve(cfg.File),
		now:      cfg.Now,
		logger:   cmp.Or(cfg.Logger, slog.Default()),
		window:   window,
		onCommit: cfg.OnCommit,
		queue:    make(chan *job, queueLength),
		quit:     make(chan struct{}),
		stopped:  make(chan struct{}),

		forgetting:    make(turn, 1),
		segmentLength: cmp.Or(cfg.segmentLength, defaultSegmentLength),
		segmentProps:  segmentProps,
		maxPropBytes:  maxPropBytes,
		counting:      make(turn, 1),
		decoding:      make(chan struct{}, runtime.GOMAXPROCS(0)),
		compacting:    make(turn, 1),
		compactorDone: make(chan struct{}),
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
	if s.locking, err = lockFile(ctx, s.file); err != nil {
		return err
	}
	if err := s.checkLog(ctx); err != nil {
		return err
	}
	if s.writing, err = sql.Open("sqlite", dsn(s.file)+writerPragmas); err != nil {
		return err
	}
	if err := migrate(ctx, s.writing); err != nil {
		return err
	}
	if err := s.claimLog(ctx); err != nil {
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
	s.closing, s.stop = context.WithCancel(background)
	s.due.addAll()
	go (&compactor{Store: s}).run(s.closing)
	return nil
}

// Close implements store.Store.
func (s *Store) Close() error {
	if s.closed.Swap(true) {
		return store.ErrClosed
	}
	s.stop()
	close(s.quit)
	<-s.stopped
	<-s.compactorDone
	if err := s.closeFiles(); err != nil {
		return &fileError{s.file, err}
	}
	return nil
}

// closeFiles closes the readers before the writer, so that a checkpoint can empty the log,
// which may contain removed data.
func (s *Store) closeFiles() error {
	var errs []error
	if s.reading != nil {
		s.waitForViews()
		errs = append(errs, s.reading.Close())
	}
	if s.writing != nil {
		_, err := s.writing.ExecContext(background, "PRAGMA wal_checkpoint(TRUNCATE)")
		errs = append(errs, err, s.writing.Close())
	}
	if s.locking != nil {
		errs = append(errs, s.locking.Close())
	}
	return errors.Join(errs...)
}
