package spool

import (
	"cmp"
	"errors"
	"log/slog"
	"time"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/internal/safelog"
)

// Config configures a Spool. The zero value of a field means its default.
type Config struct {
	// Dir is the directory of the files. Nothing else should use it. It is created with mode
	// 0700 if it does not exist; the files have mode 0600. It must be on a local disk, because
	// locks and mapped memory are not reliable on network file systems. New resolves a relative
	// path. Required.
	Dir string

	// Next delivers the events of the file. It must not be used by a tracker or another Spool.
	// Required for New. With Open it defaults to the Transport of the tracker's Config, else to
	// HTTP.
	Next footfall.Transport

	// MaxBytes bounds the events in the file, in bytes of their records: the JSON body and 36
	// bytes each. The file itself is larger, by unused space in its pages and up to 16 MiB of
	// room to grow. RefuseNew selects what happens at the bound. A single event that exceeds
	// MaxBytes is delivered from memory. Events that a killed process had in its queue are stored
	// above the bound too. Defaults to 256 MiB.
	MaxBytes int64

	// MaxAge is how long an event may wait in the file. An older event is removed without being
	// sent. Stats.Expired counts it, and so does the tracker's Stats.Dropped if this process
	// tracked it. Only the time counts during which a process has the file open, by its
	// monotonic clock: no event expires because the wall clock was wrong or was set. Negative
	// means no bound. Defaults to 7 days.
	MaxAge time.Duration

	// RefuseNew leaves new events in the tracker's queue when MaxBytes is reached. Track then
	// returns [footfall.ErrQueueFull] once the queue is full. Defaults to removing the oldest
	// events in the file, which Stats.Dropped counts.
	RefuseNew bool

	// Shared allows other processes to use Dir at the same time, if they set it too. Each
	// process has a separate file, and takes over the files of processes that have ended.
	// Defaults to one process: New returns [ErrLocked] to a second one.
	Shared bool

	// Logger receives a line when a file cannot be used or events are given up; none per event.
	// Defaults to slog.Default().
	Logger *slog.Logger
}

const (
	defaultMaxBytes = 256 << 20
	defaultMaxAge   = 7 * 24 * time.Hour
)

func (c Config) withDefaults() Config {
	c.MaxBytes = cmp.Or(c.MaxBytes, defaultMaxBytes)
	c.MaxAge = cmp.Or(c.MaxAge, defaultMaxAge)
	c.Logger = safelog.New(cmp.Or(c.Logger, slog.Default()))
	return c
}

// check reports every problem.
func (c *Config) check() error {
	var problems []error
	report := func(field, reason string) {
		problems = append(problems, &footfall.FieldError{Field: "spool.Config." + field, Reason: reason})
	}
	if c.Dir == "" {
		report("Dir", "empty: set it to a directory on a local disk that survives a restart")
	}
	if c.Next == nil {
		report("Next", "none: set it to the Transport that delivers, or use Open")
	}
	if c.MaxBytes < 0 {
		report("MaxBytes", "negative")
	}
	return errors.Join(problems...)
}
