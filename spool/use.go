package spool

import (
	"errors"
	"sync"
)

// use says whether a Spool was delivered from or closed.
type use struct {
	mu        sync.Mutex
	delivered bool // Deliver was called
	closed    bool // before Deliver was called
}

var (
	errInUse  = errors.New("spool: close: a tracker uses the Spool: close the tracker instead")
	errSecond = errors.New("a Spool serves one tracker only: it delivers nothing for a second one")
	errClosed = errors.New("the Spool was closed before it was given to a tracker: it delivers and stores nothing")
)

// begin notes that Deliver was called, or returns why it must not run.
func (u *use) begin() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case u.closed:
		return errClosed
	case u.delivered:
		return errSecond
	}
	u.delivered = true
	return nil
}
