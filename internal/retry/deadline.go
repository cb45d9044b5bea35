package retry

import (
	"context"
	"fmt"
	"time"
)

// Deadlines lends contexts that end when an attempt has taken too long. It uses them again,
// because a new one for each attempt would be a thirtieth of the cost of an event.
type Deadlines struct {
	timeout time.Duration
	idle    chan *Deadline // with room for all that are in use at once
}

// Deadline is the context of one attempt.
type Deadline struct {
	context.Context
	Interrupt func() // ends the context
	cancel    context.CancelCauseFunc
	timer     *time.Timer
}

// NewDeadlines returns Deadlines of attempts that take up to timeout, most of them at once.
func NewDeadlines(timeout time.Duration, most int) Deadlines {
	return Deadlines{timeout: timeout, idle: make(chan *Deadline, most)}
}

// Begin returns a context below parent, which must be the same for all calls.
func (d *Deadlines) Begin(parent context.Context) *Deadline {
	select {
	case used := <-d.idle:
		used.timer.Reset(d.timeout)
		return used
	default:
	}
	ctx, cancel := context.WithCancelCause(parent)
	late := fmt.Errorf("no answer in %v", d.timeout)
	return &Deadline{ctx, func() { cancel(nil) }, cancel, time.AfterFunc(d.timeout, func() { cancel(late) })}
}

// End takes back a Deadline that Begin returned.
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

// Close releases the idle contexts.
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
