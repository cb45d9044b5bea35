package colstore

import (
	"context"
	"fmt"
	"hash/maphash"
	"math"
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

func everything(uint32) bool { return true }

func encode(t *testing.T, tables PropTables) []byte {
	t.Helper()
	data, err := tables.Encode(t.Context())
	require.NoError(t, err)
	return data
}

// A day whose pairs of props and visitors do not fit into memory is read several times.
func TestPropsAreCountedExactlyInSeveralPasses(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 3))
		day := randomProps(t, rng, 1+rng.IntN(4), 300)
		want, err := CountProps(t.Context(), day, everything, math.MaxInt)
		require.NoError(t, err)
		for _, most := range []int{1, 10, 100, 500} {
			passes := 0
			counted := func(yield func(*Columns, error) bool) {
				passes++
				day(yield)
			}
			got, err := countProps(t.Context(), counted, everything, math.MaxInt, propLimits{pairs: most, rows: 1 << 20})
			require.NoError(t, err)
			require.Equal(t, encode(t, want), encode(t, got), "seed %d, %d pairs", seed, most)
			if most <= 100 {
				assert.Greater(t, passes, 1)
			}
		}
	}
}

func TestPairsInMemoryAreBounded(t *testing.T) {
	t.Parallel()
	const most = 1000
	p := newPropCounter(everything, share{shares: 1}, propLimits{pairs: most, rows: 1 << 20})
	for c, err := range randomProps(t, rand.New(rand.NewPCG(1, 3)), 20, 500) {
		require.NoError(t, err)
		require.NoError(t, p.add(t.Context(), c))
		assert.LessOrEqual(t, p.held, most)
	}
	assert.Equal(t, most, p.most, "a part of the visitors is enough")
}

// distinctProps returns one batch of events whose props are all different, 10 of each event.
func distinctProps(t *testing.T, events int) Batches {
	t.Helper()
	c := &Columns{}
	for i := range events {
		var props []store.Prop
		for key := range 10 {
			props = append(props, store.Prop{Key: fmt.Sprint("k", key), Value: fmt.Sprint(i)})
		}
		for column, value := range map[Column]any{Name: int64(1), Visitor: int64(i%7 + 1), Props: EncodeProps(props)} {
			require.NoError(t, c.Dest(column).(interface{ Scan(any) error }).Scan(value))
		}
	}
	return func(yield func(*Columns, error) bool) { yield(c, nil) }
}

// A day whose distinct props do not fit into memory is read several times.
func TestPropsAreCountedExactlyInSeveralShares(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 4))
		day := randomProps(t, rng, 1+rng.IntN(4), 300)
		want, err := CountProps(t.Context(), day, everything, math.MaxInt)
		require.NoError(t, err)
		for _, limits := range []propLimits{{pairs: 1000, rows: 1}, {pairs: 10, rows: 5 * rowBytes}, {pairs: 1000, rows: 20 * rowBytes}} {
			got, err := countProps(t.Context(), day, everything, math.MaxInt, limits)
			require.NoError(t, err)
			require.Equal(t, encode(t, want), encode(t, got), "seed %d, %v", seed, limits)
			assert.Greater(t, len(got[0]), 1, "more than one table of a name")
		}
	}
}

// A row takes 200 bytes and its texts, so 20,000 of them are 20 times too many at once.
func TestRowsInMemoryAreBounded(t *testing.T) {
	t.Parallel()
	day := distinctProps(t, 2000)
	const limit = 1000 * rowBytes
	var full, counted int
	var count func(s share)
	count = func(s share) {
		p := newPropCounter(everything, s, propLimits{pairs: 1 << 20, rows: limit})
		err := p.count(t.Context(), day)
		rows := len(p.tables[1].rows)
		assert.LessOrEqual(t, rows, 1000)
		if err == nil {
			counted += rows
			return
		}
		require.ErrorIs(t, err, errManyRows)
		full++
		for _, half := range s.halves() {
			count(half)
		}
	}
	count(share{seed: maphash.MakeSeed(), shares: 1})
	assert.Equal(t, 20_000, counted, "each prop is in one share")
	assert.Greater(t, full, 15)
}

// It takes bounded memory to find that a day is too large, and not all passes.
func TestCountingStopsWhenTheTablesAreTooLarge(t *testing.T) {
	t.Parallel()
	day, limits := distinctProps(t, 2000), propLimits{pairs: 1 << 20, rows: 1000 * rowBytes}
	passes := 0
	counted := func(yield func(*Columns, error) bool) {
		passes++
		day(yield)
	}
	all, err := countProps(t.Context(), counted, everything, math.MaxInt, limits)
	require.NoError(t, err)
	needed, size := passes, 0
	for _, table := range all[1] {
		size += len(table)
	}
	passes = 0
	_, err = countProps(t.Context(), counted, everything, size/10, limits)
	require.ErrorIs(t, err, store.ErrTooLarge)
	assert.Less(t, passes, needed/2)
}

// ending is a context that ends when it is asked for the nth time.
type ending struct {
	context.Context
	left int
}

func (e *ending) Err() error {
	if e.left--; e.left < 0 {
		return context.DeadlineExceeded
	}
	return nil
}

func TestCountingEndsWithItsContext(t *testing.T) {
	t.Parallel()
	p := newPropCounter(everything, share{shares: 1}, defaultLimits)
	err := p.count(&ending{t.Context(), 2}, distinctProps(t, 2000))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	assert.Len(t, p.tables[1].rows, 2*eventsPerCheck*10, "within a batch")
}
