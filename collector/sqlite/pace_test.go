package sqlite

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestTheKeeperWaitsForABusyWriterButNotForEver(t *testing.T) {
	t.Parallel()
	var p pace
	assert.False(t, p.waits(0), "nothing was committed")
	assert.False(t, p.waits(busyRate), "little was")
	commits := int64(busyRate)
	for range 2 {
		for range int(patience / keepEvery) {
			commits += busyRate + 1
			assert.True(t, p.waits(commits))
		}
		commits += busyRate + 1
		assert.False(t, p.waits(commits))
	}
	assert.False(t, p.waits(commits))
}

func TestTheKeeperRestsWhileTheWriterIsBusy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s Store
		for _, c := range []struct {
			worked  time.Duration
			commits int64
			rests   time.Duration
		}{
			{time.Second, busyRate - 1, 0},
			{100 * time.Millisecond, busyRate, restShare * 100 * time.Millisecond},
			{time.Minute, 60 * busyRate, maxRest},
		} {
			begin := time.Now()
			assert.NoError(t, s.rest(t.Context(), c.worked, c.commits))
			assert.Equal(t, c.rests, time.Since(begin))
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		assert.ErrorIs(t, s.rest(ctx, time.Second, 1000), context.Canceled)
	})
}
