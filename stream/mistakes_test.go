package stream_test

import (
	"strings"
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

// starts returns the errors of a program and of a relay that start.
func starts(t testing.TB, cfg stream.Config) (program, relay error) {
	t.Helper()
	tr, program := stream.Open(quick(&footfalltest.Log{}), cfg)
	if program == nil {
		require.NoError(t, closeWithin(tr, patience))
	}
	_, relay = stream.NewRelay(footfalltest.NewAPI(t).Config(), cfg, stream.RelayConfig{})
	return program, relay
}

func TestAStartFailsWhateverTheOrderOfTheServers(t *testing.T) {
	t.Parallel()
	refuses := startServer(t, func(o *server.Options) { o.Username, o.Password = "shop", "correct" }).ClientURL()
	away := "nats://" + hostPort(freePort(t))
	for _, urls := range [][]string{{refuses, away}, {away, refuses}, {away, refuses, away}, {refuses, away, away}} {
		cfg := single(strings.Join(urls, ","))
		cfg.Options = []nats.Option{nats.UserInfo("shop", "wrong"), nats.DontRandomize()}
		program, relay := starts(t, cfg)
		require.ErrorIs(t, program, nats.ErrAuthorization, "%v", urls)
		require.ErrorIs(t, relay, nats.ErrAuthorization, "%v", urls)
		cfg.Options[0] = nats.UserInfo("shop", "correct")
		publish(t, open(t, quick(&footfalltest.Log{}), cfg), 1)
	}
}

func TestAStreamThatNATSDoesNotCreateIsAnError(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*stream.Config){
		"err_code=10065": func(c *stream.Config) { c.Subject = "taken.by.another" },
		"err_code=10052": func(c *stream.Config) { c.MaxAge, c.DuplicateWindow = time.Millisecond, time.Millisecond },
		"err_code=10047": func(c *stream.Config) { c.MaxBytes = 1 << 50 },
		"err_code=10074": func(c *stream.Config) { c.Replicas = 3 },
	} {
		s := startServer(t)
		_, err := manage(t, s.ClientURL()).CreateStream(t.Context(), jetstream.StreamConfig{Name: "OTHER", Subjects: []string{"taken.>"}})
		require.NoError(t, err)
		cfg := single(s.ClientURL())
		change(&cfg)
		program, relay := starts(t, cfg)
		require.ErrorContains(t, program, want)
		require.ErrorContains(t, relay, want)
	}
}

func TestAConsumerOfAnotherNameIsAnErrorOfTheRelay(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	cfg := single(s.ClientURL())
	publish(t, open(t, quick(&footfalltest.Log{}), cfg), 1)
	_, err := manage(t, s.ClientURL()).CreateConsumer(t.Context(), "FOOTFALL", jetstream.ConsumerConfig{Durable: "other", AckPolicy: jetstream.AckExplicitPolicy})
	require.NoError(t, err)
	program, relay := starts(t, cfg)
	require.NoError(t, program)
	require.ErrorContains(t, relay, "err_code=10099")
}

func TestNamesAndPortsThatNATSCannotHaveAreWrongFields(t *testing.T) {
	t.Parallel()
	for field, cfg := range map[string]stream.Config{
		"stream.Config.Name: longer than 246 bytes":                     {Name: strings.Repeat("a", 300)},
		"stream.Config.URL: entry 2: port 99999 is not from 1 to 65535": {URL: "nats://127.0.0.1:4222, nats://shop:secret@127.0.0.1:99999"},
		"stream.Config.URL: entry 1: port 0 is not from 1 to 65535":     {URL: "127.0.0.1:0"},
		"stream.Config.URL: entry 1: no host":                           {URL: "nats://:4222"},
		`stream.Config.URL: entry 1: invalid port ":x" after host`:      {URL: "nats://shop:secret@127.0.0.1:x"},
	} {
		program, relay := starts(t, cfg)
		require.ErrorContains(t, program, field)
		require.ErrorContains(t, relay, field)
		assert.NotContains(t, program.Error(), "secret")
		assert.Equal(t, cfg.Validate().Error(), program.Error())
	}
	require.NoError(t, stream.Config{Name: strings.Repeat("a", 246), URL: "nats-1, tls://nats-2:4443,wss://nats-3,"}.Validate())
	_, err := stream.NewRelay(footfalltest.NewAPI(t).Config(), stream.Config{}, stream.RelayConfig{Consumer: "a.b"})
	require.ErrorContains(t, err, "stream.RelayConfig.Consumer: ")
	_, err = stream.NewRelay(footfall.Config{}, stream.Config{}, stream.RelayConfig{Consumer: strings.Repeat("a", 256)})
	require.ErrorContains(t, err, "stream.RelayConfig.Consumer: longer than 255 bytes")
}
