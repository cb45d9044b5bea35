//go:build !(darwin || dragonfly || freebsd || linux || netbsd)

package spool

import "errors"

var errNoMapping = errors.New("this system does not support it")

// mapsQueues is whether this system supports a queue in a mapped file.
const mapsQueues = false

// mapFile returns an error: the queue is on the heap.
func mapFile(string, int) ([]byte, error) { return nil, errNoMapping }

func unmap([]byte) {}
