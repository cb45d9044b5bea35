package stream_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
	"github.com/footfall-dev/footfall/stream"
)

func TestCheckComparesBothStreamsAndCreatesNone(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	cfg := single(s.ClientURL())
	require.ErrorIs(t, stream.Check(t.Context(), cfg), jetstream.ErrStreamNotFound)
	_, err := manage(t, s.ClientURL()).Stream(t.Context(), "FOOTFALL")
	require.ErrorIs(t, err, jetstream.ErrStreamNotFound, "Check creates nothing")

	open(t, quick(&footfalltest.Log{}), cfg)
	require.NoError(t, stream.Check(t.Context(), cfg), "the first relay creates the stream of rejected events")
	require.NoError(t, relay(t, footfalltest.NewAPI(t), cfg, stream.RelayConfig{}).stop())
	require.NoError(t, stream.Check(t.Context(), cfg))
	other := cfg
	other.Replicas, other.RejectedMaxAge = 3, time.Hour
	err = stream.Check(t.Context(), other)
	require.ErrorContains(t, err, `"FOOTFALL" exists with other settings: replicas is 1, not 3:`)
	require.ErrorContains(t, err, `"FOOTFALL_REJECTED" exists with other settings: replicas is 1, not 3; max age is 720h0m0s, not 1h0m0s:`)
	_, different := errors.AsType[*stream.SettingsError](err)
	assert.True(t, different)
	require.NoError(t, stream.Check(t.Context(), cfg), "Check changes nothing")
	cfg.URL = "nats://" + hostPort(freePort(t))
	require.ErrorContains(t, stream.Check(t.Context(), cfg), "not connected")
}

func TestValidateNamesWrongFields(t *testing.T) {
	t.Parallel()
	require.NoError(t, stream.Config{}.Validate())
	err := stream.Config{Replicas: 2, Subject: "a b"}.Validate()
	require.ErrorContains(t, err, "stream.Config.Replicas")
	require.ErrorContains(t, err, "stream.Config.Subject")
	_, field := errors.AsType[*footfall.FieldError](err)
	assert.True(t, field)
	require.Equal(t, err.Error(), stream.Check(t.Context(), stream.Config{Replicas: 2, Subject: "a b"}).Error())
}

func TestReadySaysWhyARelayTakesNoEvents(t *testing.T) {
	t.Parallel()
	s := startServer(t, func(o *server.Options) { o.JetStream = false })
	api := footfalltest.NewAPI(t)
	r := relay(t, api, single(s.ClientURL()), stream.RelayConfig{})
	require.Eventually(t, func() bool { return errors.Is(r.Ready(), nats.ErrNoResponders) }, patience, 5*time.Millisecond)
	require.ErrorContains(t, r.Ready(), "stream: the relay cannot take events: ")
	require.NoError(t, s.EnableJetStream(&server.JetStreamConfig{StoreDir: t.TempDir()}))
	require.Eventually(t, func() bool { return r.Ready() == nil }, patience, 5*time.Millisecond)
}

func TestARelayTellsWhetherItsBreakerIsOpen(t *testing.T) {
	t.Parallel()
	s, api := startServer(t), footfalltest.NewAPI(t)
	cfg := single(s.ClientURL())
	publish(t, open(t, quick(&footfalltest.Log{}), cfg), 50)
	api.Always(footfalltest.Status(503))
	r := relay(t, api, cfg, stream.RelayConfig{})
	out := func() bool { _, out := r.Outage(); return out }
	require.Eventually(t, out, patience, time.Millisecond)
	api.Always(footfalltest.Accept())
	arrive(t, api, 50)
	require.Eventually(t, func() bool { return !out() }, patience, time.Millisecond)
	other := relay(t, api, cfg, stream.RelayConfig{Next: silent{}})
	_, isOut := other.Outage()
	assert.False(t, isOut)
}

// silent is a transport that delivers nothing.
type silent struct{}

func (silent) Deliver(ctx context.Context, src *footfall.Source) {
	for ok := true; ok; {
		_, ok = src.Wait(ctx)
	}
}
