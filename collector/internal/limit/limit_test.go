package limit

import (
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func TestBurstIsTakenAtOnceAndThenOneByOne(t *testing.T) {
	t.Parallel()
	r := PerSecond(0.5, 2)
	var b Bucket
	take := func(after time.Duration) time.Duration { return b.Take(noon.Add(after), r) }
	assert.Zero(t, take(0))
	assert.Zero(t, take(0))
	assert.Equal(t, 2*time.Second, take(0))
	assert.Equal(t, time.Second, take(time.Second), "being refused costs nothing")
	assert.Zero(t, take(2*time.Second))
	assert.Equal(t, 2*time.Second, take(2*time.Second))
	assert.Zero(t, take(time.Hour))
	assert.Zero(t, take(time.Hour))
	assert.NotZero(t, take(time.Hour), "an hour wins back no more than the burst")
}

func TestClientIsAllowedExactlyAfterItsWait(t *testing.T) {
	t.Parallel()
	for _, perSecond := range []float64{1e-9, 0.1, 1.0 / 6, 0.3, 1, 3, 7, 50, 999, 50_000, 1e9} {
		for _, burst := range []int{1, 2, 20, 500} {
			r := PerSecond(perSecond, burst)
			var b Bucket
			now := noon
			for range burst {
				require.Zero(t, b.Take(now, r))
			}
			for range 20 {
				wait := b.Take(now, r)
				require.Positive(t, wait, "%v, %v", perSecond, burst)
				require.NotZero(t, b.Take(now.Add(wait-1), r), "%v, %v", perSecond, burst)
				now = now.Add(wait)
				require.Zero(t, b.Take(now, r), "%v, %v", perSecond, burst)
			}
		}
	}
}

func TestWaitUsesUpNothing(t *testing.T) {
	t.Parallel()
	table := NewTable[string](Rate{time.Minute, 1}, 8)
	for range 3 {
		assert.Zero(t, table.Wait(noon, "a"))
	}
	assert.Zero(t, table.Take(noon, "a"))
	assert.Equal(t, time.Minute, table.Wait(noon, "a"))
	assert.Equal(t, time.Minute, table.Take(noon, "a"))
}

func TestKeysDoNotShareABucket(t *testing.T) {
	t.Parallel()
	table := NewTable[string](Rate{time.Minute, 1}, 8)
	assert.Zero(t, table.Take(noon, "a"))
	assert.NotZero(t, table.Take(noon, "a"))
	assert.Zero(t, table.Take(noon, "b"))
	table.Forgive("a")
	assert.Zero(t, table.Take(noon, "a"))
	assert.NotZero(t, table.Take(noon, "b"))
}

func TestTableIsBoundedAndKeepsLimitedClients(t *testing.T) {
	t.Parallel()
	table := NewTable[int](Rate{time.Hour, 3}, 8)
	const bad = -1
	for range 3 {
		require.Zero(t, table.Take(noon, bad))
	}
	for i := range 1000 {
		require.Zero(t, table.Take(noon, i))
	}
	assert.Equal(t, 8, table.Len())
	assert.NotZero(t, table.Take(noon, bad))
}

func TestPruneDropsFullBuckets(t *testing.T) {
	t.Parallel()
	table := NewTable[string](Rate{time.Minute, 2}, 8)
	table.Take(noon, "a")
	table.Take(noon, "b")
	table.Take(noon, "b")
	table.Prune(noon.Add(time.Minute))
	assert.Equal(t, 1, table.Len())
	assert.Zero(t, table.Take(noon.Add(time.Minute), "b"))
	assert.NotZero(t, table.Take(noon.Add(time.Minute), "b"), "b was kept")
}

func TestTableMayBeUsedFromManyGoroutines(t *testing.T) {
	t.Parallel()
	table := NewTable[int](Rate{time.Hour, 100}, 8)
	var wg sync.WaitGroup
	var mu sync.Mutex
	taken := 0
	for range 8 {
		wg.Go(func() {
			for range 100 {
				if table.Take(noon, 1) == 0 {
					mu.Lock()
					taken++
					mu.Unlock()
				}
				table.Prune(noon)
			}
		})
	}
	wg.Wait()
	assert.Equal(t, 100, taken)
}

func TestPrefixIsOneCustomersNetwork(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]string{
		"192.0.2.7":             "192.0.2.0/24",
		"::ffff:192.0.2.7":      "192.0.2.0/24",
		"2001:db8:1:2:3::7":     "2001:db8:1:2::/64",
		"fe80::1:2:3:4%eth0":    "fe80::/64",
		"2001:db8:1:2:ffff::99": "2001:db8:1:2::/64",
	} {
		assert.Equal(t, want, PrefixOf(netip.MustParseAddr(addr)).String(), addr)
	}
	assert.Equal(t, netip.Prefix{}, PrefixOf(netip.Addr{}))
}
