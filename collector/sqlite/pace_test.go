package sqlite

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestTheCompactorWaitsForABusyWriterButNotForEver(t *testing.T) {
	t.Parallel()
	var p pace
	assert.False(t, p.waits(0), "nothing was committed")
	assert.False(t, p.waits(busyRate), "little was")
	commits := int64(busyRate)
	for range 2 {
		for range int(patience / compactEvery) {
			commits += busyRate + 1
			assert.True(t, p.waits(commits))
		}
		commits += busyRate + 1
		assert.False(t, p.waits(commits))
	}
	assert.False(t, p.waits(commits))
}

func TestTheCompactorPausesWhileTheWriterIsBusy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, row := range []struct {
			worked  time.Duration
			commits int64
			pauses  time.Duration
		}{
			{time.Second, busyRate - 1, 0},
			{100 * time.Millisecond, busyRate, pauseShare * 100 * time.Millisecond},
			{time.Minute, 60 * busyRate, maxPause},
		} {
			begin := time.Now()
			assert.NoError(t, giveWay(t.Context(), row.worked, row.commits))
			assert.Equal(t, row.pauses, time.Since(begin))
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		assert.ErrorIs(t, giveWay(ctx, time.Second, 1000), context.Canceled)
	})
}
