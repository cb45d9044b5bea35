//go:build race || !ci

package sqlite_test

// CI tests with more data, but not with the race detector, which makes SQLite many times slower.
func init() {
	largeEvents, packedDays, missingParts, sweepTurns = 5_000, 2, 3, 60
	oldVersions = []int{8}
}
