package senders

import "sync"

// Interruption ends an attempt early. Its methods may be called from several goroutines at once.
type Interruption struct {
	mu      sync.Mutex // held while end runs, so that end does not run after the attempt
	attempt uint64     // counts them
	end     func()
	done    bool
}

// Begin prepares for an attempt.
func (i *Interruption) Begin() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.attempt++
	i.end, i.done = nil, false
}

// On registers the function that ends the attempt, or none if it is nil. It returns false if the
// attempt has been interrupted.
func (i *Interruption) On(end func()) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !i.done {
		i.end = end
	}
	return !i.done
}

// End notes the end of the attempt and reports whether it was interrupted.
func (i *Interruption) End() (early bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.end = nil
	return i.done
}

// Interrupter returns a function that interrupts the attempt that is in flight now, and none that
// begins later.
func (i *Interruption) Interrupter() func() {
	i.mu.Lock()
	defer i.mu.Unlock()
	attempt := i.attempt
	return func() { i.interrupt(attempt) }
}

// interrupt interrupts an attempt. A panic in the registered function has no effect.
func (i *Interruption) interrupt(attempt uint64) {
	i.mu.Lock()
	defer i.mu.Unlock()
	defer func() { _ = recover() }()
	if i.attempt != attempt {
		return
	}
	if i.done = true; i.end != nil {
		i.end()
	}
}
