package spool

// arena hands out memory for records in blocks that are used once: a block is garbage
// when no record of it is held any more. Blocks are small, because one record that is
// sent for long holds all of its block.
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
