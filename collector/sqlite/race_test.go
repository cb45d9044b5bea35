//go:build race

package sqlite_test

// The detector makes SQLite, which is one goroutine's loops, many times slower.
func init() { largeEvents = 10_000 }
