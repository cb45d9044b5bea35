package stream_test

import (
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/footfalltest"
	"github.com/footfall-dev/footfall/stream"
)

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
