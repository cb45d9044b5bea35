package colstore

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/store"
)

// randomProps returns batches of events with two names, few visitors and some props.
func randomProps(t *testing.T, rng *rand.Rand, batches, events int) Batches {
	t.Helper()
	var all []*Columns
	for range batches {
		c := &Columns{}
		for range events {
			var props []store.Prop
			for key := range rng.IntN(5) {
				props = append(props, store.Prop{Key: fmt.Sprint("k", key), Value: fmt.Sprint(rng.IntN(6))})
			}
			for column, value := range map[Column]any{
				Name: int64(rng.IntN(2)), Visitor: int64(rng.IntN(40)), Props: EncodeProps(props),
			} {
				require.NoError(t, c.Dest(column).(interface{ Scan(any) error }).Scan(value))
			}
		}
		all = append(all, c)
	}
	return func(yield func(*Columns, error) bool) {
		for _, c := range all {
			if !yield(c, nil) {
				return
			}
		}
	}
}

// A day whose pairs of props and visitors do not fit into memory is read several times.
func TestPropsAreCountedExactlyInSeveralPasses(t *testing.T) {
	t.Parallel()
	everything := func(uint32) bool { return true }
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 3))
		day := randomProps(t, rng, 1+rng.IntN(4), 300)
		want, err := CountProps(day, everything)
		require.NoError(t, err)
		for _, most := range []int{1, 10, 100, 500} {
			passes := 0
			counted := func(yield func(*Columns, error) bool) {
				passes++
				day(yield)
			}
			got, err := countProps(counted, everything, most)
			require.NoError(t, err)
			require.Equal(t, want.Encode(), got.Encode(), "seed %d, %d pairs", seed, most)
			if most <= 100 {
				assert.Greater(t, passes, 1)
			}
		}
	}
}

func TestPairsInMemoryAreBounded(t *testing.T) {
	t.Parallel()
	const most = 1000
	p := &propCounter{wanted: func(uint32) bool { return true }, tables: make(PropTables), most: most, parts: 1}
	for c, err := range randomProps(t, rand.New(rand.NewPCG(1, 3)), 20, 500) {
		require.NoError(t, err)
		require.NoError(t, p.add(c))
		assert.LessOrEqual(t, p.held, most)
	}
	assert.Equal(t, most, p.most, "a part of the visitors is enough")
}
