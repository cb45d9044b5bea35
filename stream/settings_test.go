package stream_test

import (
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/footfalltest"
	"github.com/footfall-dev/footfall/stream"
)

// change changes the settings of a stream, as an operator does.
func change(t testing.TB, js jetstream.JetStream, name string, f func(*jetstream.StreamConfig)) {
	t.Helper()
	s, err := js.Stream(t.Context(), name)
	require.NoError(t, err)
	cfg := s.CachedInfo().Config
	f(&cfg)
	_, err = js.UpdateStream(t.Context(), cfg)
	require.NoError(t, err)
}

func TestBoundsThatDifferAreFollowedAndLogged(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	publish(t, open(t, quick(&footfalltest.Log{}), single(s.ClientURL())), 1)
	cfg := single(s.ClientURL())
	cfg.Replicas, cfg.MaxBytes, cfg.MaxAge, cfg.DuplicateWindow = 3, 1<<20, time.Hour, time.Second
	log := &footfalltest.Log{}
	publish(t, open(t, quick(log), cfg), 10)
	assert.Contains(t, log.String(), `stream=FOOTFALL`)
	for _, difference := range []string{"replicas is 1, not 3", "max bytes is 67108864, not 1048576", "max age is 168h0m0s, not 1h0m0s", "duplicate window is 2m0s, not 1s"} {
		assert.Contains(t, log.String(), difference)
	}

	api := footfalltest.NewAPI(t)
	relay(t, api, cfg, stream.RelayConfig{}) // the stream of rejected events gets the replicas of the first one
	arrive(t, api, 11)
	err := stream.Check(t.Context(), cfg)
	different, ok := errors.AsType[*stream.SettingsError](err)
	require.True(t, ok, "%v", err)
	assert.False(t, different.Fatal())
	assert.Equal(t, []stream.Difference{
		{Setting: "replicas", Have: "1", Want: "3", Bound: true},
		{Setting: "max bytes", Have: "67108864", Want: "1048576", Bound: true},
		{Setting: "max age", Have: "168h0m0s", Want: "1h0m0s", Bound: true},
		{Setting: "duplicate window", Have: "2m0s", Want: "1s", Bound: true},
	}, different.Differences)
}
