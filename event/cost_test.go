//go:build ci && !race

package event_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Bursts of both take turns, so that other programs slow down both. The quickest tenth of them was hardly disturbed.
func TestTrackOfADefinitionTakesAtMost30PercentLongerThanWithP(t *testing.T) {
	ctx, tracker := discarding(t)
	burst := func(track func(context.Context) error) time.Duration {
		began := time.Now()
		for range 64 {
			_ = track(ctx)
		}
		took := time.Since(began)
		require.NoError(t, tracker.Flush(ctx))
		return took
	}
	var withP, defined []time.Duration
	for range 5000 {
		withP, defined = append(withP, burst(trackWithP)), append(defined, burst(trackDefined))
	}
	require.EqualValues(t, 2*5000*64, tracker.Stats().Delivered, "what is measured makes events")
	slices.Sort(withP)
	slices.Sort(defined)
	tenth := len(withP) / 10
	t.Logf("with P %v, defined %v for 64 events", withP[tenth], defined[tenth])
	assert.LessOrEqual(t, float64(defined[tenth]), 1.3*float64(withP[tenth]))
}
