package stream_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/footfalltest"
	"github.com/footfall-dev/footfall/stream"
)

// rejectedEvents returns the stream of n rejected events.
func rejectedEvents(t testing.TB, n int) *stream.Rejections {
	t.Helper()
	s, api := startServer(t), footfalltest.NewAPI(t)
	cfg := single(s.ClientURL())
	api.Always(footfalltest.Status(422))
	r := relay(t, api, cfg, stream.RelayConfig{})
	publish(t, open(t, quick(&footfalltest.Log{}), cfg), n)
	require.Eventually(t, func() bool { return r.Stats().Rejected == uint64(n) }, patience, time.Millisecond)
	require.NoError(t, r.stop())
	rejections, err := stream.OpenRejections(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(rejections.Close)
	return rejections
}

func TestAPositionThatIsGivenTwiceCountsOnce(t *testing.T) {
	t.Parallel()
	r := rejectedEvents(t, 3)
	all := list(t, r)
	n, err := r.Retry(t.Context(), all[1].Seq, all[0].Seq, all[1].Seq)
	require.NoError(t, err)
	assert.Equal(t, 2, n)
	n, err = r.Purge(t.Context(), all[2].Seq, all[2].Seq)
	require.NoError(t, err)
	assert.Equal(t, 1, n)
	assert.Empty(t, list(t, r))
}

func TestRetryAndPurgeSayThatTheirContextHasEnded(t *testing.T) {
	t.Parallel()
	r := rejectedEvents(t, 2)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, f := range []func(context.Context, ...uint64) (int, error){r.Retry, r.Purge} {
		n, err := f(ended, 1, 2)
		require.ErrorIs(t, err, context.Canceled)
		assert.Zero(t, n)
	}
	assert.Len(t, list(t, r), 2)
}
