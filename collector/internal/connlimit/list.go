package connlimit

import (
	"net"
	"time"
)

// conn is a connection within the limit.
type conn struct {
	net.Conn

	waits      reason
	since      time.Time // when it began to wait
	prev, next *conn     // in the list of waiting connections
	gone       bool      // never waits again
}

// reason is what a connection waits for.
type reason int

// Reasons to wait.
const (
	nothing reason = iota // it does not wait
	another               // request after an answer
	request               // the first one, or the rest of one
	reading               // of a part of an answer
)

// patience is how long a connection may wait at least. One that waits for another request has had its
// answer. Other clients may be about to send a request or to read an answer.
func (r reason) patience() time.Duration {
	if r == another {
		return 0
	}
	return 500 * time.Millisecond
}

// list is a circular list of the waiting connections, ordered by when they began to wait.
type list struct{ ends conn }

func (l *list) init() { l.ends.prev, l.ends.next = &l.ends, &l.ends }

// first returns the connection that has waited longest; nil if the list is empty.
func (l *list) first() *conn {
	if l.ends.next == &l.ends {
		return nil
	}
	return l.ends.next
}

// add makes c wait from now on.
func (l *list) add(c *conn, why reason) {
	if c.leave(); c.gone {
		return
	}
	c.waits, c.since = why, time.Now()
	c.prev, c.next = l.ends.prev, &l.ends
	c.prev.next, c.next.prev = c, c
}

// leave removes c from the list.
func (c *conn) leave() {
	if c.waits != nothing {
		c.prev.next, c.next.prev = c.next, c.prev
		c.waits, c.prev, c.next = nothing, nil, nil
	}
}
