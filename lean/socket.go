package lean

import (
	"net"
	"os"
)

// socket is a TCP connection that can be read without waiting. The layers above it, such as
// TLS, need not know: in the meantime a Read that finds nothing fails as if its time were over.
type socket struct {
	net.Conn
	now  *arrivals
	poll bool // Read does not wait
}

func newSocket(c net.Conn) *socket { return &socket{Conn: c, now: newArrivals(c)} }

// Read implements net.Conn.
func (s *socket) Read(b []byte) (int, error) {
	if s.poll {
		return s.now.read(b)
	}
	return s.Conn.Read(b)
}

// errNothingYet is what a Read that does not wait returns if nothing has arrived. It is a
// temporary net.Error, which crypto/tls forgets.
var errNothingYet = os.ErrDeadlineExceeded
