package footfall

import (
	"context"
	"fmt"
	"time"
)

// deadlines lends contexts that end when an attempt has taken too long. They are used
// again: a new one for each attempt would be a thirtieth of what an event costs.
type deadlines struct {
	timeout time.Duration
	idle    chan *deadline // room for all that are in use at once
}

// deadline is a context whose time has begun.
type deadline struct {
	context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
}

func newDeadlines(timeout time.Duration, most int) deadlines {
	return deadlines{timeout: timeout, idle: make(chan *deadline, most)}
}

// begin returns a context below parent, which must be the same for all.
func (d *deadlines) begin(parent context.Context) *deadline {
	select {
	case used := <-d.idle:
		used.timer.Reset(d.timeout)
		return used
	default:
	}
	ctx, cancel := context.WithCancelCause(parent)
	late := fmt.Errorf("no answer in %v", d.timeout)
	return &deadline{ctx, cancel, time.AfterFunc(d.timeout, func() { cancel(late) })}
}

// end takes back what begin returned.
func (d *deadlines) end(used *deadline) {
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

// close lets go of all that are idle.
func (d *deadlines) close() {
	for {
		select {
		case used := <-d.idle:
			used.cancel(nil)
		default:
			return
		}
	}
}
