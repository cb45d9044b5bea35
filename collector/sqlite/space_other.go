//go:build !linux && !darwin

package sqlite

// freeSpace is not implemented for this system.
func freeSpace(string) (bytes int64, known bool) { return 0, false }
