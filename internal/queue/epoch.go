package queue

// epoch is the events accepted between two calls of Flush. A Flush ends the
// current epoch and waits until that epoch and all before it are settled.
type epoch struct {
	pending       int           // accepted and not settled
	waiters       int           // calls of Flush
	done          chan struct{} // closed when this epoch and all before are settled
	before, after *epoch
}

// epochs is a list of epochs, oldest first; the last one is open. The list drops an epoch that
// has neither events nor waiters, so that it does not grow while one event stays unsettled.
// The queue's lock guards it.
type epochs struct {
	first, last *epoch
}

func newEpochs() epochs {
	e := &epoch{done: make(chan struct{})}
	return epochs{first: e, last: e}
}

// seal ends the open epoch, unless it is empty, and returns the epoch to wait for. A caller
// that stops waiting must call leave. If every accepted event is settled, seal returns nil and
// true.
func (l *epochs) seal() (e *epoch, settled bool) {
	e = l.last
	if e.pending == 0 {
		e = e.before // nothing was accepted since
	} else {
		e.after = &epoch{done: make(chan struct{}), before: e}
		l.last = e.after
	}
	if e == nil {
		return nil, true
	}
	e.waiters++
	return e, false
}

// leave notes that a call of Flush stopped waiting for e.
func (l *epochs) leave(e *epoch) {
	e.waiters--
	l.tidy(e)
}

// settled notes that an event of e is settled.
func (l *epochs) settled(e *epoch) {
	e.pending--
	l.tidy(e)
	for l.first != l.last && l.first.pending == 0 {
		close(l.first.done)
		l.first = l.first.after
		l.first.before = nil
	}
}

// tidy removes e from the middle of the list if it has neither events nor waiters.
func (l *epochs) tidy(e *epoch) {
	if e.pending > 0 || e.waiters > 0 || e.before == nil || e == l.last {
		return
	}
	e.before.after, e.after.before = e.after, e.before
	e.before, e.after = nil, nil // a slab may keep e alive for long, and must not keep later epochs alive
}
