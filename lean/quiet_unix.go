//go:build unix

package lean

import (
	"net"
	"syscall"
)

// isQuiet reports whether a connection that has been idle is open and has nothing to
// say. A server that closes it, or sends what nobody asked for, such as a 408 before it
// closes, is found out before an event is sent to it.
func isQuiet(c net.Conn) bool {
	sock, ok := c.(syscall.Conn)
	if !ok {
		return true
	}
	raw, err := sock.SyscallConn()
	if err != nil {
		return false
	}
	quiet := false
	err = raw.Read(func(fd uintptr) bool {
		var b [1]byte
		_, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK)
		quiet = err == syscall.EAGAIN || err == syscall.EWOULDBLOCK
		return true
	})
	return err == nil && quiet
}
