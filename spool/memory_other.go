//go:build !(darwin || dragonfly || freebsd || linux || netbsd)

package spool

// mapsQueues is whether this system supports a queue in a mapped file.
const mapsQueues = false

// mapFile returns an error: the queue is on the heap.
func mapFile(string, int) ([]byte, error) { return nil, errNoMapping }

func unmap([]byte) {}
