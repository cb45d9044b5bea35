package sqlite

import (
	"context"
	"time"
)

const (
	// busyRate is the rate of commits per second above which the machine counts as busy. The
	// compactor then waits up to patience, and pauses pauseShare times as long as it has
	// worked.
	busyRate   = 100
	patience   = 30 * time.Second
	pauseShare = 39
	maxPause   = 15 * time.Second
)

// pace decides at each tick whether the compactor waits for a busy writer.
type pace struct {
	commits int64
	waited  time.Duration
}

func (p *pace) waits(commits int64) bool {
	busy := commits-p.commits > busyRate
	p.commits = commits
	if busy && p.waited < patience {
		p.waited += compactEvery
		return true
	}
	p.waited = 0
	return false
}

// giveWay pauses background work while the writer is busy.
func giveWay(ctx context.Context, worked time.Duration, commits int64) error {
	if float64(commits) < busyRate*worked.Seconds() {
		return nil
	}
	select {
	case <-time.After(min(worked*pauseShare, maxPause)):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
