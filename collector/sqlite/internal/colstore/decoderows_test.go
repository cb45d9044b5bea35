package colstore

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Some rows of a column are those that decoding all rows finds there.
func TestSomeRowsAreDecodedAsAllAre(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 2))
		values := []int{1, 2, 100, 200, 20_000, 3_000_000}[rng.IntN(6)]
		all := make([]uint32, rng.IntN(300))
		var rows []uint32
		for i := range all {
			all[i] = uint32(rng.IntN(values))
			if rng.IntN(1+rng.IntN(50)) == 0 {
				rows = append(rows, uint32(i))
			}
		}
		var e encoder
		e.indexes(all)
		d := decoder{data: e}
		got := d.indexesAt(values, len(all), rows)
		require.NoError(t, d.err())
		require.Len(t, got, len(rows))
		for i, row := range rows {
			require.Equal(t, all[row], got[i])
		}
		if len(rows) == 0 || rows[len(rows)-1] == 0 {
			continue
		}
		short := decoder{data: e[:1+rng.IntN(len(e)/2)]}
		_ = short.indexesAt(values, len(all), append(rows, uint32(len(all)-1)))
		assert.Error(t, short.err(), "seed %d", seed)
	}
	d := decoder{data: encoder{2, 0, 7}}
	_ = d.indexesAt(7, 2, []uint32{1})
	assert.ErrorIs(t, d.err(), ErrDamaged, "there is no such value")
	d = decoder{data: encoder{2, 0, 1}}
	_ = d.indexesAt(7, 3, []uint32{1})
	assert.ErrorIs(t, d.err(), ErrDamaged, "another number of rows")
}
