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
	// Dir is the directory of the files, which nothing else should use. It is made if
	// it does not exist, with mode 0700; the files have mode 0600. It must be on a
	// local disk: locks and mapped memory are not dependable on network file systems.
	// A relative path is that of the moment New is called. Required.
	Dir string

	// Next carries the events from the file to their end. It is the Spool's own: give
	// it to no tracker and no other Spool. Required for New; with Open it defaults to
	// HTTP as the tracker's Config has it.
	Next footfall.Transport

	// MaxBytes bounds the events in the file, in bytes of their records: JSON body and
	// 36 bytes. The file itself is larger, by what its pages leave unused and up to 16
	// MiB of room to grow. RefuseNew says what happens at the bound; an event that is
	// larger by itself is delivered from memory. Defaults to 256 MiB.
	MaxBytes int64

	// MaxAge is how long an event may wait in the file. An older one is removed without
	// being sent, counted in Stats.Expired and, if it was tracked since the process
	// began, in the tracker's Stats.Dropped. The time counts for which a process has
	// the file open, by its monotonic clock: no event expires because the wall clock
	// was wrong when the machine booted, or was set. The time between two processes
	// does not count. Negative means no bound. Defaults to 7 days.
	MaxAge time.Duration

	// RefuseNew leaves new events in the tracker's queue when MaxBytes is reached, so
	// that Track returns footfall.ErrQueueFull when the queue is full as well.
	// Defaults to removing the oldest events in the file, counted in Stats.Dropped.
	RefuseNew bool

	// Shared allows other processes to use Dir at the same time, if they set it too.
	// Each has a file of its own, and takes over the files of those that have ended.
	// Defaults to one process: New returns ErrLocked to a second one.
	Shared bool

	// Logger is told about files that cannot be used and events that were given up: a
	// line when it begins, none per event. Defaults to slog.Default().
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
