//go:build race

package footfallmux_test

// Under the race detector a sync.Pool, which Footfall's queue uses, drops a quarter of
// its values. Their replacements count as allocations.
func init() { slack = 1 }
