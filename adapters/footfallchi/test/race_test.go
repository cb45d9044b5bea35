//go:build race

package footfallchi_test

// Under the race detector a sync.Pool, which chi and Footfall's queue use, drops a quarter
// of its values. Their replacements count as allocations.
func init() { promised += 2 }
