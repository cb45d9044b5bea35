package sqlite

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/footfall-dev/footfall/collector/store"
)

// Config configures a [Store].
type Config struct {
	// File is the path of the database. If its directory does not exist, it is created,
	// readable only by its owner. While the store is open, four more files are beside it, and
	// after a backup another one with its time.
	// If File is a symbolic link, they are beside the file that it leads to. Open refuses a file
	// that another store has open, on Linux by any of its names. Hard links of a file that was not
	// closed do not share its log: use one name.
	// Required.
	File string

	// Now is the clock for the expiry of keys and the end of days. Defaults to time.Now. If Now is nil, a
	// clock that is set ahead expires keys only after it was ahead for IdempotencyWindow, so that a
	// wrong time does not make repeated events count twice.
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

	// OnUpgrade is called before each step of the upgrade of a file that an earlier version wrote, with
	// the number of steps that are done and the number of all steps. A step may take seconds.
	// Defaults to nil, which calls nothing.
	OnUpgrade func(done, all int)

	segmentLength int              // set by tests only
	keyNow        func() time.Time // the clock for the expiry of keys; set by tests only
}

func (cfg Config) withDefaults() (Config, error) {
	if cfg.File == "" {
		return cfg, errors.New("sqlite: Config.File is required")
	}
	cfg.File = resolve(cfg.File)
	cfg.Logger = cmp.Or(cfg.Logger, slog.Default())
	cfg.IdempotencyWindow = cmp.Or(cfg.IdempotencyWindow, store.DuplicateFor)
	cfg.segmentLength = cmp.Or(cfg.segmentLength, defaultSegmentLength)
	if cfg.Now == nil {
		cfg.Now = time.Now
		if cfg.keyNow == nil {
			cfg.keyNow = newClock(cfg.IdempotencyWindow).now
		}
	}
	if cfg.keyNow == nil {
		cfg.keyNow = cfg.Now
	}
	if window := cfg.IdempotencyWindow; window < store.MinDuplicateFor || window > store.MaxDuplicateFor {
		return cfg, fmt.Errorf("sqlite: Config.IdempotencyWindow: %v is not from %v to %v", window, store.MinDuplicateFor, store.MaxDuplicateFor)
	}
	return cfg, nil
}
