package outage

import (
	"fmt"
	"net"
	"os"
	"syscall"
)

// port is a loopback port that refuses connections until it is opened. It stays bound, so that
// no other process can take it.
type port struct {
	fd     int
	number int
}

func newPort() (*port, error) {
	syscall.ForkLock.RLock()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	p := &port{fd: fd}
	if err := p.bind(); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

func (p *port) bind() error {
	if err := syscall.Bind(p.fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return os.NewSyscallError("bind", err)
	}
	name, err := syscall.Getsockname(p.fd)
	if err != nil {
		return os.NewSyscallError("getsockname", err)
	}
	p.number = name.(*syscall.SockaddrInet4).Port
	return nil
}

func (p *port) url() string { return fmt.Sprintf("http://127.0.0.1:%d", p.number) }

// open starts listening.
func (p *port) open() (net.Listener, error) {
	if err := syscall.Listen(p.fd, syscall.SOMAXCONN); err != nil {
		return nil, os.NewSyscallError("listen", err)
	}
	f := os.NewFile(uintptr(p.fd), "port")
	p.fd = -1
	defer f.Close() // FileListener has a copy
	return net.FileListener(f)
}

func (p *port) close() {
	if p.fd >= 0 {
		_ = syscall.Close(p.fd)
	}
}
