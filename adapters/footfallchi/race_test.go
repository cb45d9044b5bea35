//go:build race

package footfallchi_test

// Under the race detector a sync.Pool, where chi and Footfall's queue take from, loses
// a quarter of what it is given: what is made instead counts as allocations.
func init() { promised += 2 }
