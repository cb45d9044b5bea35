package colstore

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAnIndexFindsWhatAMapDoes(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 1))
	for _, most := range []uint32{1, 20, 5000, 1<<32 - 1} {
		var x idIndex
		known := make(map[uint32]uint32)
		for i := range uint32(3000) {
			id := rng.Uint32N(most)
			if i%2 == 0 {
				id = i * 64 % max(most, 1) // in step
			}
			s := x.slot(id)
			require.Equal(t, known[id], s.place)
			if s.place == 0 {
				s.place = i + 1
				known[id] = s.place
			}
			if i == 1000 {
				x.grow(10_000)
			}
		}
		for id, place := range known {
			require.Equal(t, slot{id, place}, *x.slot(id))
		}
	}
}
