// Package connlimit bounds the connections of an http.Server, so that idle and slow ones do not
// use up memory and file descriptors, and do not block new ones.
package connlimit

import (
	"net"
	"net/http"
	"sync"
	"time"
)

// shortIdle is how long a connection may wait for a request while more than three quarters of the
// bound are in use and others connect.
const shortIdle = 5 * time.Second

// Limit bounds the connections of one server: give the server the listener of [Limit.Listen], the
// handler of [Limit.Handler], [Limit.ConnState] as its ConnState and [Limit.ConnContext] as its
// ConnContext. At the bound, the connection that has waited longest is closed for a new one. A
// waiting connection is idle, or its request has not arrived completely. If the requests of all
// connections have arrived, the new connection waits.
type Limit struct {
	most int

	mu     sync.Mutex
	change sync.Cond // of the fields below
	conns  map[net.Conn]*conn
	quiet  conn // of the circular list of waiting connections: next is the oldest, prev the newest
	closed bool
}

// conn is a connection within the limit.
type conn struct {
	net.Conn

	since      time.Time // when it began to wait
	prev, next *conn     // in the list, nil if the connection does not wait
	gone       bool
}

// remove removes c from the list.
func (c *conn) remove() {
	if c.next != nil {
		c.prev.next, c.next.prev = c.next, c.prev
		c.prev, c.next = nil, nil
	}
}

// New returns a limit of this many connections.
func New(most int) *Limit {
	l := &Limit{most: max(most, 1), conns: make(map[net.Conn]*conn)}
	l.change.L = &l.mu
	l.quiet.prev, l.quiet.next = &l.quiet, &l.quiet
	return l
}

// Listen returns a listener that accepts connections within the limit. It returns the connections
// as they are, so that the server recognizes TLS.
func (l *Limit) Listen(inner net.Listener) net.Listener { return &listener{inner, l} }

type listener struct {
	net.Listener
	limit *Limit
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if !l.limit.enter(conn) {
		_ = conn.Close() // was never used
		return nil, net.ErrClosed
	}
	return conn, nil
}

// Close implements net.Listener.
func (l *listener) Close() error {
	l.limit.mu.Lock()
	l.limit.closed = true
	l.limit.mu.Unlock()
	l.limit.change.Broadcast()
	return l.Listener.Close()
}

// enter makes room for a connection and adds it. It returns false if the listener is closed.
func (l *Limit) enter(accepted net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.conns) > l.most*3/4 && l.anyQuiet() && time.Since(l.quiet.next.since) > shortIdle {
		l.dropOldest()
	}
	for len(l.conns) >= l.most && !l.closed {
		if l.anyQuiet() {
			l.dropOldest()
		} else {
			l.change.Wait()
		}
	}
	if l.closed {
		return false
	}
	c := &conn{Conn: accepted}
	l.conns[accepted] = c
	l.append(c)
	return true
}

func (l *Limit) anyQuiet() bool { return l.quiet.next != &l.quiet }

// append makes c the newest of the waiting connections.
func (l *Limit) append(c *conn) {
	c.since = time.Now()
	c.prev, c.next = l.quiet.prev, &l.quiet
	c.prev.next, c.next.prev = c, c
}

// dropOldest closes the connection that has waited longest.
func (l *Limit) dropOldest() {
	c := l.quiet.next
	l.forget(c)
	_ = c.Close() // the server notices
}

// forget removes c.
func (l *Limit) forget(c *conn) {
	c.remove()
	c.gone = true
	delete(l.conns, c.Conn)
}

// ConnState is for http.Server.
func (l *Limit) ConnState(changed net.Conn, state http.ConnState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c, known := l.conns[changed]
	if !known { // dropped
		return
	}
	switch state {
	case http.StateNew, http.StateIdle:
		l.becomeQuiet(c)
	case http.StateActive: // the header has arrived
		c.remove()
	default:
		l.forget(c)
		l.change.Signal()
	}
}

// await makes c a waiting connection until its request has arrived.
func (l *Limit) await(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !c.gone {
		l.becomeQuiet(c)
	}
}

func (l *Limit) becomeQuiet(c *conn) {
	c.remove()
	l.append(c)
	l.change.Signal()
}

// arrived notes that the request of c has arrived.
func (l *Limit) arrived(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.remove()
}
