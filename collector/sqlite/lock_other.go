//go:build !linux

package sqlite

import "io"

// lockItself does nothing: on other systems, a lock of the whole file interferes with the locks
// of SQLite.
func lockItself(string) (io.Closer, error) { return io.NopCloser(nil), nil }
