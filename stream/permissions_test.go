package stream_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
	"github.com/footfall-dev/footfall/stream"
)

// users makes a user who may do everything, and one who may not publish to the subjects denied.
func users(denied ...string) []*server.User {
	return []*server.User{{Username: "all", Password: "a"}, {Username: "relay", Password: "r", Permissions: &server.Permissions{
		Publish: &server.SubjectPermission{Deny: denied},
	}}}
}

// ended runs a relay until it stops by itself.
func ended(t testing.TB, api footfall.Config, cfg stream.Config, c stream.RelayConfig) error {
	t.Helper()
	r, err := stream.NewRelay(api, cfg, c)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	err = r.Run(ctx)
	assert.NoError(t, ctx.Err(), "the relay has not stopped by itself")
	return err
}

func TestARelayThatMayNotAcknowledgeSendsNothingAndStops(t *testing.T) {
	t.Parallel()
	s := startServer(t, func(o *server.Options) { o.Users = users("$JS.ACK.>") })
	api, cfg := footfalltest.NewAPI(t), single(s.ClientURL())
	cfg.Timeout = 500 * time.Millisecond
	cfg.Options = []nats.Option{nats.UserInfo("all", "a")}
	publish(t, open(t, quick(&footfalltest.Log{}), cfg), 100)
	denied := cfg
	denied.Options = []nats.Option{nats.UserInfo("relay", "r")}
	for range 2 { // as a supervisor starts it again
		err := ended(t, api.Config(), denied, stream.RelayConfig{AckWait: time.Second})
		require.ErrorIs(t, err, stream.ErrAckDenied)
		require.ErrorIs(t, err, nats.ErrPermissionViolation)
		require.ErrorContains(t, err, `give its user permission to publish to "$JS.ACK.>"`)
	}
	assert.Empty(t, api.Requests(), "each of them would be sent again")
	relay(t, api, cfg, stream.RelayConfig{AckWait: time.Second})
	arrive(t, api, 100)
	assert.Len(t, api.Requests(), 100)
}

func TestARelayThatMayNotAcknowledgeAnyMoreStops(t *testing.T) {
	t.Parallel()
	for _, denied := range []string{"$JS.ACK.>", "$JS.API.STREAM.INFO.FOOTFALL"} {
		t.Run(denied, func(t *testing.T) {
			t.Parallel()
			var options *server.Options
			s := startServer(t, func(o *server.Options) { o.Users = users("none"); options = o.Clone() })
			api, cfg := footfalltest.NewAPI(t), single(s.ClientURL())
			cfg.Timeout = 500 * time.Millisecond
			cfg.Options = []nats.Option{nats.UserInfo("all", "a")}
			tr := open(t, quick(&footfalltest.Log{}), cfg)
			cfg.Options = []nats.Option{nats.UserInfo("relay", "r")}
			stopped := make(chan error, 1)
			go func() { stopped <- ended(t, api.Config(), cfg, stream.RelayConfig{AckWait: time.Second}) }()
			publish(t, tr, 10)
			arrive(t, api, 10)
			options.Users = users(denied)
			require.NoError(t, s.ReloadOptions(options))
			var err error
			require.Eventually(t, func() bool {
				publish(t, tr, 1)
				select {
				case err = <-stopped:
					return true
				default:
					return false
				}
			}, patience, 10*time.Millisecond)
			require.ErrorIs(t, err, stream.ErrAckDenied)
			require.ErrorContains(t, err, denied)
		})
	}
}

func TestARelayThatMayNotReadTheStreamDoesNotStart(t *testing.T) {
	t.Parallel()
	s := startServer(t, func(o *server.Options) {
		o.Users = users("$JS.API.STREAM.INFO.FOOTFALL", "$JS.API.STREAM.CREATE.FOOTFALL")
	})
	api, cfg := footfalltest.NewAPI(t), single(s.ClientURL())
	cfg.Timeout = 500 * time.Millisecond
	cfg.Options = []nats.Option{nats.UserInfo("all", "a")}
	publish(t, open(t, quick(&footfalltest.Log{}), cfg), 10)
	cfg.Options = []nats.Option{nats.UserInfo("relay", "r")}
	_, err := stream.NewRelay(api.Config(), cfg, stream.RelayConfig{})
	require.ErrorIs(t, err, stream.ErrAckDenied)
	require.ErrorContains(t, err, `give its user permission to publish to "$JS.API.STREAM.INFO.FOOTFALL"`)
	assert.Empty(t, api.Requests())
}

// documentedUsers returns the options of a server with the authorization block of docs/stream.md.
func documentedUsers(t testing.TB) func(*server.Options) {
	t.Helper()
	page, err := os.ReadFile("../docs/stream.md")
	require.NoError(t, err)
	block := regexp.MustCompile(`(?s)\n    authorization \{.*?\n    \}\n`).FindString(string(page))
	require.NotEmpty(t, block)
	conf := filepath.Join(t.TempDir(), "nats.conf")
	require.NoError(t, os.WriteFile(conf, []byte("PROGRAM_PASSWORD: p, RELAY_PASSWORD: r, OPERATOR_PASSWORD: o\n"+block), 0o600))
	options, err := server.ProcessConfigFile(conf)
	require.NoError(t, err)
	require.Len(t, options.Users, 3)
	return func(o *server.Options) { o.Users = options.Users }
}

func TestTheDocumentedPermissionsAreEnough(t *testing.T) {
	t.Parallel()
	s, api, log := startServer(t, documentedUsers(t)), footfalltest.NewAPI(t), &footfalltest.Log{}
	as := func(user, password string) stream.Config {
		cfg := single(s.ClientURL())
		cfg.Timeout, cfg.Logger, cfg.Options = 500*time.Millisecond, log.Logger(), []nats.Option{nats.UserInfo(user, password)}
		return cfg
	}
	operator := as("operator", "o")
	r := relay(t, api, as("relay", "r"), stream.RelayConfig{}) // creates the streams
	tr := open(t, quick(log), as("program", "p"))
	publish(t, tr, 10)
	arrive(t, api, 10)
	lag, err := r.Lag(t.Context())
	require.NoError(t, err)
	assert.Zero(t, lag.Rejected)
	require.NoError(t, r.Ready())

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	seen, tailed := make(chan stream.Event, 100), make(chan error, 1)
	go func() { tailed <- stream.Tail(ctx, operator, func(e stream.Event) { seen <- e }) }()
	require.Eventually(t, func() bool { publish(t, tr, 1); return len(seen) > 0 }, patience, 10*time.Millisecond)
	arrive(t, api, int(tr.Stats().Stored))

	api.Always(footfalltest.Status(422))
	publish(t, tr, 3)
	require.Eventually(t, func() bool { return r.Stats().Rejected == 3 }, patience, time.Millisecond)
	rejections, err := stream.OpenRejections(t.Context(), operator)
	require.NoError(t, err)
	t.Cleanup(rejections.Close)
	all := list(t, rejections)
	require.Len(t, all, 3)
	n, err := rejections.Retry(t.Context(), all[0].Seq)
	require.NoError(t, err)
	assert.Equal(t, 1, n)
	_, err = rejections.Purge(t.Context(), all[1].Seq)
	require.NoError(t, err)
	_, err = rejections.Purge(t.Context())
	require.NoError(t, err)
	operator.MaxBytes *= 2
	_, err = stream.Apply(t.Context(), operator)
	require.NoError(t, err)
	require.NoError(t, stream.Check(t.Context(), operator))
	cancel()
	require.ErrorIs(t, <-tailed, context.Canceled)
	require.NoError(t, r.stop())
	assert.NotContains(t, log.String(), "permission")
}

// doctor asks whether the user may use the account, and its connection has that error from then on.
func TestAnOldErrorOfTheConnectionIsNotTheReasonOfATimeout(t *testing.T) {
	t.Parallel()
	s := startServer(t, func(o *server.Options) { o.Users = users("$JS.API.INFO") })
	cfg := single(s.ClientURL())
	cfg.Options = []nats.Option{nats.UserInfo("relay", "r")}
	open(t, quick(&footfalltest.Log{}), cfg)
	var err error
	cfg.Conn, err = nats.Connect(s.ClientURL(), cfg.Options[0], nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	require.NoError(t, err)
	t.Cleanup(cfg.Conn.Close)
	require.NoError(t, cfg.Conn.Publish("$JS.API.INFO", nil))
	require.NoError(t, cfg.Conn.Flush())
	require.ErrorIs(t, cfg.Conn.LastError(), nats.ErrPermissionViolation)
	require.NoError(t, stream.Check(t.Context(), cfg))
	cfg.Timeout = time.Nanosecond
	for name, err := range map[string]error{
		"Check": stream.Check(t.Context(), cfg),
		"Apply": func() error { _, err := stream.Apply(t.Context(), cfg); return err }(),
	} {
		require.ErrorIs(t, err, context.DeadlineExceeded, name)
		require.NotErrorIs(t, err, nats.ErrPermissionViolation, name)
	}
}
