package colstore

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

// The rows are more than have a bit, and their pairs more than are held at once.
func TestDistinctVisitorsAreCountedExactly(t *testing.T) {
	t.Parallel()
	const rows, visitors = 150, 1000
	rng := rand.New(rand.NewPCG(26, 1))
	var s visited
	got, want := make([]Tally, rows), make([]Tally, rows)
	for _, events := range []int{1000, 3 * pairsAtOnce} { // on two days
		met := make([]bool, rows*visitors)
		for range events {
			row, visitor := uint32(rng.IntN(rows)), uint32(rng.IntN(visitors))
			s.add(row, visitor)
			if pair := row*visitors + visitor; visitor != 0 && !met[pair] {
				met[pair] = true
				want[row].Visitors++
			}
		}
		assert.Less(t, cap(s.others.rows), 2*pairsAtOnce, "memory is bounded by the pairs that differ")
		s.tally(got, visitors)
		assert.Equal(t, want, got)
	}
}
