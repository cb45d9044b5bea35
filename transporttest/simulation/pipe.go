package simulation

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// pipe is one end of a connection in memory. Unlike a socket it works in a bubble, and unlike
// net.Pipe a write does not wait for the reader.
type pipe struct {
	in, out *stream
	peer    *pipe
	once    sync.Once
	closed  chan struct{} // by this end
}

var _ net.Conn = (*pipe)(nil)

// newPipe returns both ends of a connection.
func newPipe() (client, server *pipe) {
	up, down := newStream(), newStream()
	client = &pipe{in: down, out: up, closed: make(chan struct{})}
	server = &pipe{in: up, out: down, closed: make(chan struct{})}
	client.peer, server.peer = server, client
	return client, server
}

// Read implements net.Conn.
func (p *pipe) Read(b []byte) (int, error) { return p.in.read(b) }

// Write implements net.Conn.
func (p *pipe) Write(b []byte) (int, error) {
	select {
	case <-p.closed:
		return 0, net.ErrClosed
	default:
		return p.out.write(b)
	}
}

// Close implements net.Conn. The other end reads what is left, and then io.EOF.
func (p *pipe) Close() error {
	p.end(io.EOF)
	return nil
}

// reset closes the connection so that the other end fails.
func (p *pipe) reset() { p.end(syscall.ECONNRESET) }

func (p *pipe) end(err error) {
	p.once.Do(func() {
		close(p.closed)
		p.out.end(err)
		p.in.end(net.ErrClosed)
	})
}

// SetDeadline implements net.Conn. Writes need none.
func (p *pipe) SetDeadline(t time.Time) error { return p.SetReadDeadline(t) }

// SetReadDeadline implements net.Conn.
func (p *pipe) SetReadDeadline(t time.Time) error {
	p.in.mu.Lock()
	defer p.in.mu.Unlock()
	p.in.deadline = t
	p.in.signal()
	return nil
}

// SetWriteDeadline implements net.Conn.
func (p *pipe) SetWriteDeadline(time.Time) error { return nil }

// LocalAddr implements net.Conn.
func (p *pipe) LocalAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

// RemoteAddr implements net.Conn.
func (p *pipe) RemoteAddr() net.Addr { return p.LocalAddr() }

// stream is one direction of a connection.
type stream struct {
	mu       sync.Mutex
	buf      []byte
	wrote    time.Time // when bytes were last added to buf
	err      error     // why no more bytes follow buf
	deadline time.Time
	change   chan struct{} // closed and replaced at every change
}

func newStream() *stream { return &stream{change: make(chan struct{})} }

func (s *stream) signal() {
	close(s.change)
	s.change = make(chan struct{})
}

func (s *stream) write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return 0, syscall.EPIPE
	}
	s.buf = append(s.buf, b...)
	s.wrote = time.Now()
	s.signal()
	return len(b), nil
}

func (s *stream) lastWrite() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wrote
}

// end keeps the first error. The reader gets the remaining bytes only before io.EOF.
func (s *stream) end(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil && s.err != io.EOF {
		return
	}
	s.err = err
	if err != io.EOF {
		s.buf = nil
	}
	s.signal()
}

func (s *stream) read(b []byte) (int, error) {
	for {
		n, change, deadline, err := s.tryRead(b)
		if n > 0 || err != nil {
			return n, err
		}
		if deadline.IsZero() {
			<-change
			continue
		}
		left := time.Until(deadline)
		if left <= 0 {
			return 0, os.ErrDeadlineExceeded
		}
		wait(left, change)
	}
}

func (s *stream) tryRead(b []byte) (n int, change <-chan struct{}, deadline time.Time, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.buf) > 0 {
		n = copy(b, s.buf)
		s.buf = s.buf[n:]
		return n, nil, time.Time{}, nil
	}
	return 0, s.change, s.deadline, s.err
}
