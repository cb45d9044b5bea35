//go:build darwin || dragonfly || freebsd || linux || netbsd

package spool

import (
	"os"
	"syscall"
)

// mapsQueues is whether this system supports a queue in a mapped file.
const mapsQueues = true

// mapFile writes n zeros to an empty file and maps it. Storing to a mapped page that has no block is
// a fault when the disk is full, and otherwise waits for the file system to find one: 2 µs, and now
// and then many milliseconds. So fallocate is not enough.
func mapFile(path string, n int) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // the mapping remains
	if err := writeZeros(f, n); err != nil {
		return nil, err
	}
	return syscall.Mmap(int(f.Fd()), 0, n, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
}

func unmap(data []byte) { _ = syscall.Munmap(data) }

func writeZeros(f *os.File, n int) error {
	zeros := make([]byte, 1<<20)
	for ; n > 0; n -= len(zeros) {
		if _, err := f.Write(zeros[:min(n, len(zeros))]); err != nil {
			return err
		}
	}
	return nil
}
