package lean

import (
	"net"
	"os"
)

// socket is a TCP connection with a non-blocking read. The layers above it, such as TLS, see a
// timeout if nothing has arrived.
type socket struct {
	net.Conn
	now  *arrivals
	poll bool // Read does not block
}

func newSocket(c net.Conn) *socket { return &socket{Conn: c, now: newArrivals(c)} }

// Read implements net.Conn.
func (s *socket) Read(b []byte) (int, error) {
	if !s.poll {
		return s.Conn.Read(b)
	}
	n, arrived, err := s.now.read(b)
	if !arrived {
		return 0, errNothingYet
	}
	return n, err
}

// errNothingYet is returned by a non-blocking Read if nothing has arrived. It is a temporary
// net.Error, which crypto/tls does not remember.
var errNothingYet = os.ErrDeadlineExceeded
