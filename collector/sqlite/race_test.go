//go:build race

package sqlite_test

// The detector makes SQLite, which is one goroutine's loops, many times slower.
func init() { largeEvents, packedDays, missingParts, sweepTurns = 5_000, 2, 3, 60 }
