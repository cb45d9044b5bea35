// Package connlimit bounds the connections of an http.Server, so that idle and slow ones do not
// use up memory and file descriptors, and do not shut out newcomers.
package connlimit

import (
	"container/list"
	"net"
	"net/http"
	"sync"
	"time"
)

// shortIdle is how long a connection may be quiet while more than three quarters of the bound are
// in use and others connect.
const shortIdle = 5 * time.Second

// Limit bounds the connections of one server: give the server the listener of [Limit.Listen], the
// handler of [Limit.Handler], [Limit.ConnState] as its ConnState and [Limit.ConnContext] as its
// ConnContext. A connection above the bound takes the place of the one that is quiet for the
// longest time. A quiet connection is idle, or its request has not arrived completely. If the
// requests of all connections have arrived, the new connection waits.
type Limit struct {
	most int

	mu     sync.Mutex
	change sync.Cond                  // of the fields below
	conns  map[net.Conn]*list.Element // nil for a connection that is not quiet
	quiet  list.List                  // of *quiet, the oldest first
	closed bool
}

// quiet is a connection without a complete request.
type quiet struct {
	conn  net.Conn
	since time.Time
}

// New returns a limit of this many connections.
func New(most int) *Limit {
	l := &Limit{most: max(most, 1), conns: make(map[net.Conn]*list.Element)}
	l.change.L = &l.mu
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
func (l *Limit) enter(conn net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.conns) > l.most*3/4 && l.quiet.Len() > 0 && time.Since(l.oldest().since) > shortIdle {
		l.dropOldest()
	}
	for len(l.conns) >= l.most && !l.closed {
		if l.quiet.Len() > 0 {
			l.dropOldest()
		} else {
			l.change.Wait()
		}
	}
	if l.closed {
		return false
	}
	l.conns[conn] = l.quiet.PushBack(&quiet{conn, time.Now()})
	return true
}

func (l *Limit) oldest() *quiet { return l.quiet.Front().Value.(*quiet) }

// dropOldest closes the connection that is quiet for the longest time.
func (l *Limit) dropOldest() {
	conn := l.oldest().conn
	l.quiet.Remove(l.quiet.Front())
	delete(l.conns, conn)
	_ = conn.Close() // the server notices
}

// ConnState is for http.Server.
func (l *Limit) ConnState(conn net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew, http.StateIdle:
		l.await(conn)
	case http.StateActive: // the header has arrived
		l.arrived(conn)
	default:
		l.leave(conn)
	}
}

// await makes conn the newest of the quiet connections.
func (l *Limit) await(conn net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.wake(conn) {
		l.conns[conn] = l.quiet.PushBack(&quiet{conn, time.Now()})
		l.change.Signal()
	}
}

// arrived notes that the request of conn has arrived.
func (l *Limit) arrived(conn net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wake(conn)
}

func (l *Limit) leave(conn net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.wake(conn) {
		delete(l.conns, conn)
		l.change.Signal()
	}
}

// wake removes conn from the quiet connections. It returns false if conn was dropped.
func (l *Limit) wake(conn net.Conn) bool {
	place, known := l.conns[conn]
	if place != nil {
		l.quiet.Remove(place)
		l.conns[conn] = nil
	}
	return known
}
