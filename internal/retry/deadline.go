package retry

import (
	"context"
	"fmt"
	"time"
)

// Deadlines lends contexts that end when an attempt has taken too long. They are used
// again: a new one for each attempt would be a thirtieth of what an event costs.
type Deadlines struct {
	timeout time.Duration
	idle    chan *Deadline // room for all that are in use at once
}

// Deadline is a context whose time has begun.
type Deadline struct {
	context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
}

func NewDeadlines(timeout time.Duration, most int) Deadlines {
	return Deadlines{timeout: timeout, idle: make(chan *Deadline, most)}
}

// Begin returns a context below parent, which must be the same for all.
func (d *Deadlines) Begin(parent context.Context) *Deadline {
	select {
	case used := <-d.idle:
		used.timer.Reset(d.timeout)
		return used
	default:
	}
	ctx, cancel := context.WithCancelCause(parent)
	late := fmt.Errorf("no answer in %v", d.timeout)
	return &Deadline{ctx, cancel, time.AfterFunc(d.timeout, func() { cancel(late) })}
}

// End takes back what begin returned.
func (d *Deadlines) End(used *Deadline) {
	if !used.timer.Stop() || used.Err() != nil {
		used.cancel(nil) // it has ended, or is about to
		return
	}
	select {
	case d.idle <- used:
	default:
		used.cancel(nil)
	}
}

// Close lets go of all that are idle.
func (d *Deadlines) Close() {
	for {
		select {
		case used := <-d.idle:
			used.cancel(nil)
		default:
			return
		}
	}
}
