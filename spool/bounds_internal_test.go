package spool

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
)

// Ended events are removed in the transaction that adds new ones.
func TestAnEventTakesTheRoomOfAnEndedEvent(t *testing.T) {
	for name, refuse := range map[string]bool{"where the oldest are dropped": false, "where new ones are refused": true} {
		t.Run(name, func(t *testing.T) {
			a := age(t, t.TempDir(), func(c *Config) {
				c.MaxBytes, c.RefuseNew = int64(len(wrongTimes)*(headerSize+2)), refuse
			})
			defer a.kill()
			a.keep()
			taken := make([]footfall.Record, 2)
			require.Equal(t, 2, a.feed.Take(taken))
			a.feed.Settle(taken, footfall.OutcomeDelivered, nil)
			a.src = footfall.NewSource(&queued{*a.tracked, wrongTimes[:2]})
			a.due.Store(true)
			a.step()
			assert.Zero(t, a.feed.read().Dropped)
			assert.Equal(t, uint64(len(wrongTimes)), a.feed.read().Events)
			assert.Equal(t, 2*len(wrongTimes)-1, a.tracked.settled[footfall.OutcomeStored])
		})
	}
}

// A transaction that adds a large event removes at most maxRemoved of the small events that
// were dropped for it.
func TestTheFileStaysWithinMaxBytesWhileManyEventsAreDroppedForOne(t *testing.T) {
	const events, small = 10_000, headerSize + 2
	o, _ := newTestOwner(t, t.TempDir(), func(c *Config) { c.MaxBytes = events * small })
	o.reopen()
	t.Cleanup(func() { o.store.close(); o.claim.release() })
	for n := 0; n < events; n += 1000 {
		for i := range 1000 {
			o.hold([]footfall.Record{some(n+i+1, 1)[0].rec})
		}
		require.True(t, o.write())
	}
	require.Equal(t, o.cfg.MaxBytes, o.store.bytes)

	large := footfall.Record{ID: [16]byte{1}, Body: make([]byte, (maxRemoved+1000)*small-headerSize)}
	o.hold([]footfall.Record{large})
	require.True(t, o.write())
	assert.Equal(t, o.cfg.MaxBytes, o.store.bytes)
	assert.Equal(t, events-(maxRemoved+1000)+1, o.store.events)
	assert.Equal(t, uint64(maxRemoved+1000), o.feed.read().Dropped)
}

func TestASmallFileHasTheCountsOfTheLargeOne(t *testing.T) {
	a := age(t, t.TempDir())
	a.keep()
	large := a.store
	large.size = largeFile
	a.shrink()
	defer a.kill()
	require.NotSame(t, large, a.store)
	got := a.store
	assert.Less(t, got.size, int64(largeFile))
	assert.Equal(t,
		store{events: large.events, bytes: large.bytes, next: large.next, clock: large.clock},
		store{events: got.events, bytes: got.bytes, next: got.next, clock: got.clock})
}

func TestADraftThatCannotBeUsedIsRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := age(t, t.TempDir())
		defer a.kill()
		a.keep()
		require.NoError(t, os.WriteFile(a.claim.draft(), []byte("not a file of bbolt's"), 0o600))
		large := a.store
		large.size = largeFile
		a.shrink()
		require.Same(t, large, a.store)
		assert.NoFileExists(t, a.claim.draft())
		time.Sleep(time.Minute)
		a.shrink()
		assert.NotSame(t, large, a.store)
	})
}

func TestASmallFileThatCannotReplaceTheLargeOneIsAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := age(t, t.TempDir())
		defer a.kill()
		a.keep()
		a.store.size = largeFile
		require.NoError(t, os.Remove(a.claim.path))
		require.NoError(t, os.MkdirAll(filepath.Join(a.claim.path, "x"), 0o700))
		a.shrink()
		require.Nil(t, a.store)
		assert.True(t, a.feed.read().Degraded)
		require.NoError(t, os.RemoveAll(a.claim.path))
		a.run(2 * time.Second)
		assert.NotNil(t, a.store)
	})
}
