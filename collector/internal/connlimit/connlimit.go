// Package connlimit bounds the connections of an http.Server, so that idle and slow ones do not
// use up memory and file descriptors, and do not block new ones.
package connlimit

import (
	"net"
	"net/http"
	"sync"
	"time"
)

const (
	// shortIdle is how long a connection may wait for its client while more than three quarters of
	// the bound are in use and others connect.
	shortIdle = 5 * time.Second

	// sendBuffer bounds the bytes of answers that the kernel keeps for a client. Linux lets them take
	// twice as much memory. By itself it would keep 4 MB for a client that reads nothing.
	sendBuffer = 64 << 10
)

// Limit bounds the connections of one server: give the server the listener of [Limit.Listen], the
// handler of [Limit.Handler], [Limit.ConnState] as its ConnState and [Limit.ConnContext] as its
// ConnContext. At the bound, the connection that has waited for its client longest is closed for a
// new one. A connection waits if it is idle, if its request has not arrived completely, or if its
// client does not read a part of the answer. If no connection has waited long enough, the new
// connection waits.
type Limit struct {
	most int

	mu      sync.Mutex
	change  sync.Cond // of the fields below
	conns   map[net.Conn]*conn
	waiting list
	closed  bool
}

// New returns a limit of this many connections.
func New(most int) *Limit {
	l := &Limit{most: max(most, 1), conns: make(map[net.Conn]*conn)}
	l.change.L = &l.mu
	l.waiting.init()
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
	boundSendBuffer(conn)
	return conn, nil
}

// boundSendBuffer does nothing if the system has no such bound, or conn is not one of the system.
func boundSendBuffer(conn net.Conn) {
	if tls, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = tls.NetConn()
	}
	if tcp, ok := conn.(interface{ SetWriteBuffer(bytes int) error }); ok {
		_ = tcp.SetWriteBuffer(sendBuffer)
	}
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
	for len(l.conns) > l.most*3/4 {
		c := l.waiting.first()
		if c == nil || time.Since(c.since) <= shortIdle {
			break
		}
		l.drop(c)
	}
	for len(l.conns) >= l.most && !l.closed {
		c := l.waiting.first()
		if c == nil {
			l.change.Wait()
		} else if left := c.waits.patience() - time.Since(c.since); left > 0 {
			l.waitFor(left)
		} else {
			l.drop(c)
		}
	}
	if l.closed {
		return false
	}
	c := &conn{Conn: accepted}
	l.conns[accepted] = c
	l.waiting.add(c, request)
	return true
}

// waitFor waits for a change, but not longer than left.
func (l *Limit) waitFor(left time.Duration) {
	timer := time.AfterFunc(left, func() {
		l.mu.Lock() // after the call of Wait
		defer l.mu.Unlock()
		l.change.Broadcast()
	})
	defer timer.Stop()
	l.change.Wait()
}

// drop closes c.
func (l *Limit) drop(c *conn) {
	l.forget(c)
	_ = c.Close() // the server notices
}

// forget removes c.
func (l *Limit) forget(c *conn) {
	c.leave()
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
	case http.StateNew:
		l.waiting.add(c, request)
	case http.StateActive: // waits until Handler is called, because the server answers some requests by itself
	case http.StateIdle:
		l.waiting.add(c, another)
	default:
		l.forget(c)
	}
	l.change.Signal()
}

// await notes that c waits for the rest of a request.
func (l *Limit) await(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting.add(c, request)
	l.change.Signal()
}

// work notes that the request of c has arrived and that c does not wait.
func (l *Limit) work(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.leave()
}

// write notes that a part of an answer is written, so that c waits for its client to read it, unless c
// already waits for the rest of the request.
func (l *Limit) write(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.waits == nothing {
		l.waiting.add(c, reading)
		l.change.Signal()
	}
}

// wrote notes that the part was written.
func (l *Limit) wrote(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.waits == reading {
		c.leave()
	}
}
