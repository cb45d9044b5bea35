package spool

import (
	"log/slog"
	"time"
)

// notices logs the beginning of a condition, and the same condition at most once per interval.
type notices struct {
	isDown      bool
	lastDown    time.Time
	lastFull    time.Time
	lastExpired time.Time
	reported    uint64 // events that had expired by then
}

const (
	downAgain  = time.Minute
	boundAgain = time.Hour
)

// down is called each time the file could not be used.
func (n *notices) down(log *slog.Logger, dir string, err error) {
	if n.isDown {
		return
	}
	if now := time.Now(); now.Sub(n.lastDown) >= downAgain {
		n.isDown, n.lastDown = true, now
		log.Error("spool: the file cannot be used; events are kept in memory only", "dir", dir, "error", err)
	}
}

// up is called when the file is used.
func (n *notices) up(log *slog.Logger, dir string) {
	if n.isDown {
		n.isDown = false
		log.Info("spool: the file is used again", "dir", dir)
	}
}

// full is called when an event does not fit in the file.
func (n *notices) full(log *slog.Logger, cfg *Config) {
	now := time.Now()
	if now.Sub(n.lastFull) < boundAgain {
		return
	}
	n.lastFull = now
	what := "the oldest events are dropped"
	if cfg.RefuseNew {
		what = "new events stay in the tracker's queue"
	}
	log.Warn("spool: Config.MaxBytes is reached: "+what, "max_bytes", cfg.MaxBytes, "dir", cfg.Dir)
}

// expired is called with the number of events that have expired so far.
func (n *notices) expired(log *slog.Logger, cfg *Config, total uint64) {
	now := time.Now()
	if total == n.reported || now.Sub(n.lastExpired) < boundAgain {
		return
	}
	log.Warn("spool: events were older than Config.MaxAge and were not sent",
		"events", total-n.reported, "max_age", cfg.MaxAge, "dir", cfg.Dir)
	n.reported, n.lastExpired = total, now
}
