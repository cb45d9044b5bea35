package stream_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/footfalltest"
	"github.com/footfall-dev/footfall/stream"
)

func TestARelayThatMayNotAcknowledgeStopsBeforeThereAreEvents(t *testing.T) {
	t.Parallel()
	s := startServer(t, func(o *server.Options) { o.Users = users("$JS.ACK.>") })
	cfg := single(s.ClientURL())
	cfg.Options = []nats.Option{nats.UserInfo("relay", "r")}
	err := ended(t, footfalltest.NewAPI(t).Config(), cfg, stream.RelayConfig{})
	require.ErrorIs(t, err, stream.ErrAckDenied)
	require.ErrorContains(t, err, "$JS.ACK.FOOTFALL.footfall-relay.")
}

func TestARelayWithoutAPermissionThatItNeedsEnds(t *testing.T) {
	t.Parallel()
	for _, subject := range []string{
		"$JS.API.STREAM.CREATE.FOOTFALL", "$JS.API.STREAM.CREATE.FOOTFALL_REJECTED",
		"$JS.API.CONSUMER.CREATE.FOOTFALL.footfall-relay", "$JS.API.CONSUMER.MSG.NEXT.FOOTFALL.footfall-relay",
	} {
		t.Run(subject, func(t *testing.T) {
			t.Parallel()
			s := startServer(t, func(o *server.Options) { o.Users = users(subject) })
			cfg := single(s.ClientURL())
			cfg.Timeout = 500 * time.Millisecond
			cfg.Options = []nats.Option{nats.UserInfo("relay", "r")}
			r, err := stream.NewRelay(footfalltest.NewAPI(t).Config(), cfg, stream.RelayConfig{})
			if err == nil {
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				defer cancel()
				err = r.Run(ctx)
			}
			require.ErrorIs(t, err, nats.ErrPermissionViolation)
			require.ErrorContains(t, err, `Publish to "`+subject+`"`)
			assert.Equal(t, strings.Contains(subject, "STREAM.CREATE"), strings.Contains(err.Error(), "it does not exist, and the account may not create it: start a relay"))
		})
	}
}

// The user of a program in docs/stream.md may not create the stream.
func TestAProgramThatStartsBeforeTheFirstRelaySaysWhoCreatesTheStream(t *testing.T) {
	t.Parallel()
	s, api, log := startServer(t, documentedUsers(t)), footfalltest.NewAPI(t), &footfalltest.Log{}
	cfg := single(s.ClientURL())
	cfg.Timeout, cfg.Options = 500*time.Millisecond, []nats.Option{nats.UserInfo("program", "p")}
	const why = `it does not exist, and the account may not create it: start a relay`
	tr := open(t, quick(log), cfg)
	assert.Contains(t, log.String(), why)
	track(t, tr, 10)
	require.ErrorContains(t, flushWithin(tr, 3*time.Second), `NATS stream "FOOTFALL": `+why)
	assert.Equal(t, 1, strings.Count(log.String(), "NATS reports an error"), "the program asks once whether it may create the stream")
	cfg.Options = []nats.Option{nats.UserInfo("relay", "r")}
	relay(t, api, cfg, stream.RelayConfig{})
	require.NoError(t, flushWithin(tr, patience))
	arrive(t, api, 10)
}

func TestARelayThatStopsBeforeItHasTakenEventsDoesNotSayThatItTakesThem(t *testing.T) {
	t.Parallel()
	s, log := startServer(t, func(o *server.Options) { o.JetStream = false }), &footfalltest.Log{}
	silent, err := nats.Connect(s.ClientURL())
	require.NoError(t, err)
	t.Cleanup(silent.Close)
	requests := make(chan *nats.Msg, 100)
	_, err = silent.ChanSubscribe("$JS.API.>", requests)
	require.NoError(t, err)
	require.NoError(t, silent.Flush())
	cfg := single(s.ClientURL())
	cfg.Logger, cfg.Timeout = log.Logger(), time.Second
	r := relay(t, footfalltest.NewAPI(t), cfg, stream.RelayConfig{})
	for !strings.Contains(log.String(), "the relay cannot take events") {
		<-requests
	}
	require.NoError(t, r.stop(), "during a request")
	assert.NotContains(t, log.String(), "the relay takes events again")
}

func TestReadySaysFromTheStartWhyARelayTakesNoEvents(t *testing.T) {
	t.Parallel()
	s := startServer(t, func(o *server.Options) { o.JetStream = false })
	r := relay(t, footfalltest.NewAPI(t), single(s.ClientURL()), stream.RelayConfig{})
	var err error
	require.Eventually(t, func() bool {
		err = r.Ready()
		return !strings.Contains(err.Error(), "does not run")
	}, patience, time.Microsecond)
	require.ErrorIs(t, err, nats.ErrNoResponders)
}

// NATS does not answer the request, so the relay waits for it first.
func TestARelayThatMayNotReadTheStreamOfRejectedEventsDelivers(t *testing.T) {
	t.Parallel()
	s, api := startServer(t, func(o *server.Options) { o.Users = users("$JS.API.STREAM.INFO.FOOTFALL_REJECTED") }), footfalltest.NewAPI(t)
	cfg := single(s.ClientURL())
	cfg.Timeout, cfg.Options = 300*time.Millisecond, []nats.Option{nats.UserInfo("relay", "r")}
	r := relay(t, api, cfg, stream.RelayConfig{})
	publish(t, open(t, quick(&footfalltest.Log{}), cfg), 10)
	arrive(t, api, 10)
	_, err := r.Lag(t.Context())
	require.ErrorContains(t, err, `Publish to "$JS.API.STREAM.INFO.FOOTFALL_REJECTED"`)
}
