package footfall

// epoch is the events accepted between two calls of Flush. A Flush ends the
// current epoch and waits until that one and all before it are settled.
type epoch struct {
	pending int // accepted and not settled
	done    chan struct{}
	after   *epoch
}

func newEpoch() *epoch { return &epoch{done: make(chan struct{})} }

// epochs is a list of epochs, oldest first; the last one is open. It is guarded
// by the queue's lock.
type epochs struct {
	first, last *epoch
	sealed      *epoch // the one before last
}

func newEpochs() epochs {
	e := newEpoch()
	return epochs{first: e, last: e}
}

// seal ends the open epoch, and returns a channel that is closed when every
// event accepted so far is settled, and whether that is so already.
func (l *epochs) seal() (done <-chan struct{}, settled bool) {
	if l.last.pending == 0 {
		if l.first == l.last {
			return nil, true
		}
		return l.sealed.done, false // nothing was accepted since
	}
	l.sealed = l.last
	l.last.after = newEpoch()
	l.last = l.last.after
	return l.sealed.done, false
}

// settled is told that an event of e has ended.
func (l *epochs) settled(e *epoch) {
	e.pending--
	for l.first != l.last && l.first.pending == 0 {
		close(l.first.done)
		l.first = l.first.after
	}
	if l.first == l.last {
		l.sealed = nil
	}
}
