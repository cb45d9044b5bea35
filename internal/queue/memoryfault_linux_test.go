package queue

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// mapped maps a file of n bytes.
func mapped(t *testing.T, n int) (memory []byte, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "memory")
	f, err := os.Create(path)
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	require.NoError(t, f.Truncate(int64(n)))
	memory, err = syscall.Mmap(int(f.Fd()), 0, n, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, syscall.Munmap(memory)) })
	return memory, path
}

// Writing behind the end of a mapped file is a fault, as it is on some file systems on a full disk.
func TestEventsAreOnTheHeapAfterAFaultOfMemory(t *testing.T) {
	t.Parallel()
	for name, left := range map[string]int64{"at once": 0, "in a slab": 4096} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			memory, path := mapped(t, 4*slabSize)
			require.NoError(t, os.Truncate(path, left))
			faults := 0
			q := newShardTest(2, func(o *Options) { o.Memory, o.Fault = memory, func() { faults++ } })
			for n := range 2000 {
				require.NoError(t, q.Put(&Hint{shard: n % 2}, number(n), 0))
				q.tick()
			}
			for n := range 2000 {
				came, r := q.takeOne(t)
				require.Equal(t, n, came)
				q.Settle([]item{r}, Delivered, nil)
			}
			assert.Equal(t, uint64(2000), q.Counters().Delivered)
			assert.Equal(t, 1, faults)
		})
	}
}

func TestEventsAreSettledAfterAFaultOfMemory(t *testing.T) {
	t.Parallel()
	memory, path := mapped(t, slabSize)
	q := newShardTest(1, func(o *Options) { o.Memory = memory })
	require.NoError(t, q.Put(&Hint{}, number(1), 0))
	_, r := q.takeOne(t)
	require.NoError(t, os.Truncate(path, 0))
	q.Settle([]item{r}, Delivered, nil)
	assert.Equal(t, uint64(1), q.Counters().Delivered)
}
