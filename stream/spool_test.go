//go:build ci

package stream_test

import (
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/footfalltest"
	"github.com/footfall-dev/footfall/spool"
	"github.com/footfall-dev/footfall/stream"
)

func TestASpoolOverAStreamKeepsEventsWhileNATSIsAway(t *testing.T) {
	t.Parallel()
	port, dir := freePort(t), t.TempDir()
	cfg := single("nats://" + hostPort(port))
	tracker := quick(&footfalltest.Log{})
	next, err := stream.New(tracker, cfg)
	require.NoError(t, err)
	first, _, err := spool.Open(tracker, spool.Config{Dir: dir, Next: next})
	require.NoError(t, err)
	track(t, first, 100)
	require.NoError(t, closeWithin(first, patience), "the events are in the file")

	startServer(t, func(o *server.Options) { o.Port = port })
	next, err = stream.New(tracker, cfg)
	require.NoError(t, err)
	second, file, err := spool.Open(tracker, spool.Config{Dir: dir, Next: next})
	require.NoError(t, err)
	t.Cleanup(func() { _ = closeWithin(second, patience) })
	publish(t, second, 50)
	assert.Equal(t, uint64(150), file.Stats().HandedOver)
	api := footfalltest.NewAPI(t)
	relay(t, api, cfg, stream.RelayConfig{})
	arrive(t, api, 150)
}
