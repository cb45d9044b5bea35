package order

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func TestEventsOfAPageHaveTimesInTheirOrder(t *testing.T) {
	t.Parallel()
	for seed := range uint64(500) {
		rng := rand.New(rand.NewPCG(seed, 0))
		var times Times
		at := make([]time.Time, 20)
		arrived := noon
		for _, n := range rng.Perm(len(at)) {
			arrived = arrived.Add(time.Duration(rng.IntN(3)) * time.Millisecond)
			at[n] = times.At(Page{Site: "s", ID: "p"}, uint32(n), arrived, time.UTC)
			require.WithinDuration(t, arrived, at[n], 100*time.Millisecond)
		}
		for n := range at[1:] {
			require.True(t, at[n].Before(at[n+1]), "seed %d, %d", seed, n)
		}
	}
}

func TestEventsInOrderKeepTheirTimes(t *testing.T) {
	t.Parallel()
	var times Times
	for n := range 100 {
		at := noon.Add(time.Duration(n) * 10 * time.Millisecond)
		assert.Equal(t, at, times.At(Page{Site: "s", ID: "p"}, uint32(n), at, time.UTC))
	}
}

func TestOtherPagesAndTimesDoNotMatter(t *testing.T) {
	t.Parallel()
	var times Times
	a, b := Page{Site: "s", Visitor: 1, ID: "a"}, Page{Site: "s", Visitor: 1, ID: "b"}
	assert.Equal(t, noon, times.At(a, 7, noon, time.UTC))
	assert.Equal(t, noon, times.At(b, 3, noon, time.UTC), "another page")
	assert.Equal(t, noon, times.At(a, 7, noon, time.UTC), "a repeated number")
	later := noon.Add(time.Minute)
	assert.Equal(t, later, times.At(a, 3, later, time.UTC), "long after")
	assert.Equal(t, noon, times.At(b, 4_000_000_000, noon, time.UTC), "a number far away")
	midnight := noon.Add(12 * time.Hour)
	assert.Equal(t, midnight, times.At(a, 9, midnight, time.UTC))
	assert.Equal(t, midnight, times.At(a, 8, midnight, time.UTC), "another day has other visitors")
	assert.Equal(t, midnight.Add(-time.Millisecond), times.At(a, 8, midnight, time.FixedZone("east", 3600)), "the same day in another zone")
}

func TestPagesInMemoryAreBounded(t *testing.T) {
	t.Parallel()
	var times Times
	for i := range 5 * maxPages {
		times.At(Page{ID: fmt.Sprint(i)}, 1, noon, time.UTC)
	}
	assert.LessOrEqual(t, len(times.young)+len(times.old), 2*maxPages)
	for n := range uint32(10 * maxSent) {
		times.At(Page{ID: "p"}, n, noon.Add(time.Duration(n)*time.Millisecond), time.UTC)
	}
	assert.LessOrEqual(t, len(times.young[Page{ID: "p"}]), maxSent)
}
