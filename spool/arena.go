package spool

// arena allocates memory for records in blocks that are used once. A block is garbage when none
// of its records is used. Blocks are small, because one record that stays in flight keeps its
// whole block alive.
type arena struct{ block []byte }

const blockSize = 64 << 10

// room returns an empty slice with a capacity of n.
func (a *arena) room(n int) []byte {
	if cap(a.block)-len(a.block) < n {
		a.block = make([]byte, 0, max(n, blockSize))
	}
	start := len(a.block)
	a.block = a.block[:start+n]
	return a.block[start : start : start+n]
}
