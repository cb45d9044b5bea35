package stream_test

import (
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
	"github.com/footfall-dev/footfall/stream"
)

func TestApplyChangesTheBoundsThatAreSet(t *testing.T) {
	t.Parallel()
	s, api := startServer(t), footfalltest.NewAPI(t)
	cfg := single(s.ClientURL())
	_, err := stream.Apply(t.Context(), cfg)
	require.ErrorIs(t, err, jetstream.ErrStreamNotFound, "Apply creates nothing")
	tr := open(t, quick(&footfalltest.Log{}), cfg)
	change := stream.Config{URL: s.ClientURL(), MaxBytes: 128 << 20}
	changes, err := stream.Apply(t.Context(), change)
	require.NoError(t, err, "the first relay creates the stream of rejected events")
	assert.Equal(t, []stream.Change{{Stream: "FOOTFALL", Setting: "max bytes", From: "67108864", To: "134217728"}}, changes)
	changes, err = stream.Apply(t.Context(), change)
	require.NoError(t, err)
	assert.Empty(t, changes)

	relay(t, api, cfg, stream.RelayConfig{})
	publish(t, tr, 10)
	arrive(t, api, 10)
	changes, err = stream.Apply(t.Context(), stream.Config{URL: s.ClientURL(), MaxAge: -1, DuplicateWindow: time.Minute, RejectedMaxAge: 24 * time.Hour})
	require.NoError(t, err)
	assert.Equal(t, []stream.Change{
		{Stream: "FOOTFALL", Setting: "max age", From: "168h0m0s", To: "unlimited"},
		{Stream: "FOOTFALL", Setting: "duplicate window", From: "2m0s", To: "1m0s"},
		{Stream: "FOOTFALL_REJECTED", Setting: "max age", From: "720h0m0s", To: "24h0m0s"},
		{Stream: "FOOTFALL_REJECTED", Setting: "duplicate window", From: "2m0s", To: "1m0s"},
	}, changes)
	now := stream.Config{URL: s.ClientURL(), Replicas: 1, MaxBytes: 128 << 20, MaxAge: -1, DuplicateWindow: time.Minute, RejectedMaxAge: 24 * time.Hour}
	require.NoError(t, stream.Check(t.Context(), now))
	publish(t, tr, 10)
	arrive(t, api, 20)
}

func TestApplyRemovesNoEvent(t *testing.T) {
	t.Parallel()
	s, api := startServer(t), footfalltest.NewAPI(t)
	cfg := single(s.ClientURL())
	tr := open(t, quick(&footfalltest.Log{}), cfg)
	api.Always(footfalltest.Status(422))
	r := relay(t, api, cfg, stream.RelayConfig{})
	publish(t, tr, 100)
	require.Eventually(t, func() bool { return r.Stats().Rejected == 100 }, patience, time.Millisecond)
	require.NoError(t, r.stop())
	publish(t, tr, 100)
	_, err := stream.Apply(t.Context(), stream.Config{URL: s.ClientURL(), RejectedMaxBytes: 1000})
	require.ErrorContains(t, err, `stream.Config.RejectedMaxBytes: 1000 would remove events of NATS stream "FOOTFALL_REJECTED"`)
	_, err = stream.Apply(t.Context(), stream.Config{URL: s.ClientURL(), MaxBytes: 1000})
	require.NoError(t, err, "a full stream keeps what it has")
	js := manage(t, s.ClientURL())
	assert.Equal(t, []int{100, 100}, []int{messages(t, js, "FOOTFALL"), messages(t, js, "FOOTFALL_REJECTED")})
}

func TestApplyRefusesAStreamThatIsNotOfFootfall(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	js := manage(t, s.ClientURL())
	_, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "FOOTFALL", Subjects: []string{"footfall.events"}, MaxBytes: 1 << 20})
	require.NoError(t, err)
	_, err = stream.Apply(t.Context(), stream.Config{URL: s.ClientURL(), MaxBytes: 2 << 20})
	other, ok := errors.AsType[*stream.SettingsError](err)
	require.True(t, ok, "%v", err)
	assert.True(t, other.Fatal())
	st, err := js.Stream(t.Context(), "FOOTFALL")
	require.NoError(t, err)
	assert.Equal(t, int64(1<<20), st.CachedInfo().Config.MaxBytes)
}

// The runbook of a full stream, in docs/stream.md.
func TestAFullStreamThatIsRaisedTakesTheEventsThatWait(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	cfg := single(s.ClientURL())
	cfg.MaxBytes = 20 << 10
	tr := open(t, quick(&footfalltest.Log{}), cfg)
	track(t, tr, 1000)
	require.ErrorContains(t, flushWithin(tr, time.Second), "maximum bytes exceeded")
	_, err := stream.Apply(t.Context(), stream.Config{URL: s.ClientURL(), MaxBytes: 1 << 20})
	require.NoError(t, err)
	require.NoError(t, flushWithin(tr, patience))
	assert.Equal(t, 1000, messages(t, manage(t, s.ClientURL()), "FOOTFALL"))
}

func TestApplyComparesAgeAndWindowWithThoseOfTheStream(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	cfg := single(s.ClientURL())
	cfg.MaxAge = 200 * time.Hour
	require.NoError(t, relay(t, footfalltest.NewAPI(t), cfg, stream.RelayConfig{}).stop())
	apply := func(change stream.Config) error {
		change.URL = s.ClientURL()
		_, err := stream.Apply(t.Context(), change)
		return err
	}
	require.NoError(t, apply(stream.Config{DuplicateWindow: 190 * time.Hour}), "the default of MaxAge is less")
	for want, change := range map[string]stream.Config{
		`stream.Config.DuplicateWindow: 201h0m0s is longer than the max age of NATS stream "FOOTFALL", 200h0m0s`:              {DuplicateWindow: 201 * time.Hour},
		`stream.Config.MaxAge: 100h0m0s is less than the duplicate window of NATS stream "FOOTFALL", 190h0m0s`:                {MaxAge: 100 * time.Hour},
		`stream.Config.MaxAge: 1s is less than the duplicate window`:                                                          {MaxAge: time.Second},
		`stream.Config.RejectedMaxAge: 1h0m0s is less than the duplicate window of NATS stream "FOOTFALL_REJECTED", 190h0m0s`: {RejectedMaxAge: time.Hour},
		`stream.Config.DuplicateWindow: longer than MaxAge, 1h0m0s,`:                                                          {MaxAge: time.Hour, DuplicateWindow: 2 * time.Hour},
	} {
		err := apply(change)
		require.ErrorContains(t, err, want)
		_, field := errors.AsType[*footfall.FieldError](err)
		assert.True(t, field)
	}
	require.NoError(t, apply(stream.Config{MaxAge: 100 * time.Hour, DuplicateWindow: time.Hour}))
}

// NATS refuses a duplicate window that is longer than the age.
func TestTheDefaultOfTheDuplicateWindowIsAtMostTheAge(t *testing.T) {
	t.Parallel()
	cfg := single(startServer(t).ClientURL())
	cfg.MaxAge, cfg.RejectedMaxAge = time.Minute, 30*time.Second
	require.NoError(t, relay(t, footfalltest.NewAPI(t), cfg, stream.RelayConfig{}).stop())
	require.NoError(t, stream.Check(t.Context(), cfg))
}
