package outage

import (
	"os"
	"syscall"
)

// ledger records the result of each call of Track, by the event's number. It is memory shared
// with the parent: cheap to write, and complete when the child is killed.
type ledger []byte

const (
	untouched byte = iota
	taken          // Track returned nil
	refused        // Track returned an error
)

// newLedger returns a ledger with room for the events 1 to n.
func newLedger(path string, n int) (ledger, error) {
	if err := os.WriteFile(path, make([]byte, n+1), 0o600); err != nil {
		return nil, err
	}
	return openLedger(path)
}

func openLedger(path string) (ledger, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close() // the mapping remains
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	b, err := syscall.Mmap(int(f.Fd()), 0, int(info.Size()), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	return b, os.NewSyscallError("mmap", err)
}

func (l ledger) note(n int, err error) {
	l[n] = taken
	if err != nil {
		l[n] = refused
	}
}

func (l ledger) close() { _ = syscall.Munmap(l) }
