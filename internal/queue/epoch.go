package queue

// epoch is the events accepted between two calls of Flush. A Flush ends the
// current epoch and waits until that one and all before it are settled.
type epoch struct {
	pending       int           // accepted and not settled
	waiters       int           // calls of Flush
	done          chan struct{} // closed when this epoch and all before are settled
	before, after *epoch
}

// epochs is a list of epochs, oldest first; the last one is open. An epoch without
// events and without waiters leaves it, so that it does not grow while one event
// stays unsettled. It is guarded by the queue's lock.
type epochs struct {
	first, last *epoch
}

func newEpochs() epochs {
	e := &epoch{done: make(chan struct{})}
	return epochs{first: e, last: e}
}

// seal ends the open epoch, unless it is empty, and returns the one to wait for,
// which the caller leaves when it waits no more; or nil and true if everything
// accepted so far is settled.
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

// leave is told that a call of Flush gave up waiting for e.
func (l *epochs) leave(e *epoch) {
	e.waiters--
	l.tidy(e)
}

// settled is told that an event of e has ended.
func (l *epochs) settled(e *epoch) {
	e.pending--
	l.tidy(e)
	for l.first != l.last && l.first.pending == 0 {
		close(l.first.done)
		l.first = l.first.after
		l.first.before = nil
	}
}

// tidy takes an epoch that nobody needs out of the middle of the list.
func (l *epochs) tidy(e *epoch) {
	if e.pending > 0 || e.waiters > 0 || e.before == nil || e == l.last {
		return
	}
	e.before.after, e.after.before = e.after, e.before
	e.before, e.after = nil, nil // a slab may hold e for long, and must not hold all that came later
}
