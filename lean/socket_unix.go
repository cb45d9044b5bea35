//go:build unix

package lean

import (
	"io"
	"net"
	"syscall"
)

// arrivals reads a connection without blocking. One goroutine uses it at a time.
type arrivals struct {
	raw  syscall.RawConn
	call func(fd uintptr) // created once, so that a read does not allocate
	b    []byte
	n    int
	err  error
}

// newArrivals returns nil if c has no socket.
func newArrivals(c net.Conn) *arrivals {
	has, ok := c.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := has.SyscallConn()
	if err != nil {
		return nil
	}
	r := &arrivals{raw: raw}
	r.call = func(fd uintptr) { r.n, r.err = syscall.Read(int(fd), r.b) }
	return r
}

// read does not block. It reports whether data, the end of the connection or an error has
// arrived.
func (r *arrivals) read(b []byte) (n int, arrived bool, err error) {
	if r == nil {
		return 0, false, nil
	}
	r.b = b
	err = r.raw.Control(r.call) // fails if the connection is closed
	r.b = nil
	switch {
	case err != nil:
		return 0, true, err
	case r.err == syscall.EAGAIN || r.err == syscall.EWOULDBLOCK || r.err == syscall.EINTR:
		return 0, false, nil
	case r.err != nil:
		return 0, true, r.err
	case r.n == 0:
		return 0, true, io.EOF
	}
	return r.n, true, nil
}
