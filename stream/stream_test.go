package stream_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http/httptest"
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

func TestEventsAreStoredInTheStreamWithTheirIDs(t *testing.T) {
	t.Parallel()
	s, log := startServer(t), &footfalltest.Log{}
	tr := open(t, quick(log), single(s.ClientURL()))
	require.NoError(t, tr.TrackDurable(t.Context(), footfall.Event{Name: "paid"}))
	js := manage(t, s.ClientURL())
	assert.Equal(t, 1, messages(t, js, "FOOTFALL"))
	publish(t, tr, 1000)
	stats := tr.Stats()
	assert.Equal(t, []uint64{1001, 1001}, []uint64{stats.Tracked, stats.Stored})
	assert.Equal(t, 1001, messages(t, js, "FOOTFALL"))
	st, err := js.Stream(t.Context(), "FOOTFALL")
	require.NoError(t, err)
	m, err := st.GetMsg(t.Context(), 1)
	require.NoError(t, err)
	assert.Len(t, m.Header.Get(jetstream.MsgIDHeader), 36)
	assert.JSONEq(t, `{"site_id":"site_test","name":"paid","url":"https://example.com/"}`, string(m.Data))
	cfg := st.CachedInfo().Config
	assert.Equal(t, jetstream.WorkQueuePolicy, cfg.Retention)
	assert.Equal(t, jetstream.FileStorage, cfg.Storage)
	assert.Equal(t, jetstream.DiscardNew, cfg.Discard)
	require.NoError(t, closeWithin(tr, patience))
	assert.Empty(t, log.String())
}

func TestAStreamOfOtherSettingsIsRefusedWithEachDifference(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	js := manage(t, s.ClientURL())
	_, err := js.CreateStream(t.Context(), jetstream.StreamConfig{
		Name: "FOOTFALL", Subjects: []string{"other", "footfall.events"}, Storage: jetstream.MemoryStorage, MaxAge: time.Hour, MaxBytes: 64 << 20,
		Duplicates: time.Minute, MaxMsgs: 10, MaxMsgsPerSubject: 5,
	})
	require.NoError(t, err)
	_, err = stream.Open(quick(&footfalltest.Log{}), single(s.ClientURL()))
	var other *stream.SettingsError
	require.ErrorAs(t, err, &other)
	assert.Equal(t, []stream.Difference{
		{Setting: "subjects", Have: "footfall.events other", Want: "footfall.events"},
		{Setting: "retention", Have: "limits", Want: "workqueue"},
		{Setting: "storage", Have: "memory", Want: "file"},
		{Setting: "discard", Have: "discardold", Want: "discardnew"},
		{Setting: "max age", Have: "1h0m0s", Want: "168h0m0s", Bound: true},
		{Setting: "duplicate window", Have: "1m0s", Want: "2m0s", Bound: true},
		{Setting: "max messages", Have: "10", Want: "-1", Bound: true},
		{Setting: "max messages per subject", Have: "5", Want: "0"},
	}, other.Differences)
	require.ErrorContains(t, err, `the NATS stream "FOOTFALL" exists with other settings: subjects is footfall.events other, not footfall.events; retention is limits, not workqueue;`)
	require.ErrorContains(t, err, `nats stream edit`)

	_, err = stream.NewRelay(footfalltest.NewAPI(t).Config(), single(s.ClientURL()), stream.RelayConfig{})
	require.ErrorAs(t, err, &other)
}

func TestTheSecondProgramFindsTheStreamOfTheFirst(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	for range 2 {
		publish(t, open(t, quick(&footfalltest.Log{}), single(s.ClientURL())), 10)
	}
	assert.Equal(t, 20, messages(t, manage(t, s.ClientURL()), "FOOTFALL"))
}

func TestWrongCredentialsAreAnError(t *testing.T) {
	t.Parallel()
	s := startServer(t, func(o *server.Options) { o.Username, o.Password = "shop", "correct" })
	cfg := single(s.ClientURL())
	cfg.Options = []nats.Option{nats.UserInfo("shop", "wrong-password")}
	_, err := stream.Open(quick(&footfalltest.Log{}), cfg)
	require.ErrorIs(t, err, nats.ErrAuthorization)
	assert.NotContains(t, err.Error(), "wrong-password")
	_, err = stream.NewRelay(footfalltest.NewAPI(t).Config(), cfg, stream.RelayConfig{})
	require.ErrorIs(t, err, nats.ErrAuthorization)
	cfg.Options = []nats.Option{nats.UserInfo("shop", "correct")}
	publish(t, open(t, quick(&footfalltest.Log{}), cfg), 1)
}

func TestAnAccountThatMayOnlyPublishDoesSo(t *testing.T) {
	t.Parallel()
	s := startServer(t, func(o *server.Options) {
		o.Users = []*server.User{{Username: "admin", Password: "a"}, {Username: "shop", Password: "s", Permissions: &server.Permissions{
			Publish:   &server.SubjectPermission{Allow: []string{"footfall.events"}},
			Subscribe: &server.SubjectPermission{Allow: []string{"_INBOX.>"}},
		}}}
	})
	cfg := single(s.ClientURL())
	cfg.Timeout = 300 * time.Millisecond
	cfg.Options = []nats.Option{nats.UserInfo("admin", "a")}
	publish(t, open(t, quick(&footfalltest.Log{}), cfg), 1) // creates the stream
	log := &footfalltest.Log{}
	cfg.Options = []nats.Option{nats.UserInfo("shop", "s")}
	tr := open(t, quick(log), cfg)
	publish(t, tr, 10)
	assert.Equal(t, uint64(10), tr.Stats().Stored)
	assert.Contains(t, log.String(), "the account of NATS may not read the stream")
}

func TestAProgramStartsWhileNATSIsAway(t *testing.T) {
	t.Parallel()
	port := freePort(t)
	cfg := single("")
	cfg.URL = hostPort(port) + ", nats://shop:secret@" + hostPort(port)
	log := &footfalltest.Log{}
	tr := open(t, quick(log), cfg)
	track(t, tr, 100)
	var unsettled *footfall.FlushError
	require.ErrorAs(t, flushWithin(tr, 300*time.Millisecond), &unsettled)
	require.ErrorContains(t, unsettled.Cause, "not connected to NATS")
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	require.ErrorContains(t, tr.TrackDurable(ctx, footfall.Event{Name: "paid"}), "not connected to NATS")
	assert.Contains(t, log.String(), "NATS is away; events wait")
	assert.Contains(t, log.String(), "servers=nats://"+hostPort(port)+",nats://"+hostPort(port)+" ")
	assert.NotContains(t, log.String(), "secret")
	startServer(t, func(o *server.Options) { o.Port = port })
	require.NoError(t, flushWithin(tr, patience))
	assert.Equal(t, uint64(101), tr.Stats().Stored)
	assert.Equal(t, 101, messages(t, manage(t, "nats://"+hostPort(port)), "FOOTFALL"))
}

func TestRejectionsNameNATSThatIsAway(t *testing.T) {
	t.Parallel()
	cfg := single("nats://" + hostPort(freePort(t)))
	cfg.Timeout, cfg.Logger = 300*time.Millisecond, (&footfalltest.Log{}).Logger()
	_, err := stream.OpenRejections(t.Context(), cfg)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "not connected to NATS")
}

func TestAStreamThatDiffersLaterHoldsEventsAndSaysWhy(t *testing.T) {
	t.Parallel()
	port := freePort(t)
	cfg := single("nats://" + hostPort(port))
	tr := open(t, quick(&footfalltest.Log{}), cfg)
	track(t, tr, 10)
	startServer(t, func(o *server.Options) { o.Port = port })
	// The tracker may be first to create the stream; then there is nothing to test.
	js := manage(t, cfg.URL)
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "FOOTFALL", Subjects: []string{"footfall.events"}, MaxAge: time.Hour}); err != nil {
		require.ErrorIs(t, err, jetstream.ErrStreamNameAlreadyInUse)
		return
	}
	var other *stream.SettingsError
	require.Eventually(t, func() bool { return errors.As(flushWithin(tr, 50*time.Millisecond), &other) }, patience, time.Millisecond)
	require.NoError(t, js.DeleteStream(t.Context(), "FOOTFALL"))
	require.NoError(t, flushWithin(tr, patience))
	assert.Equal(t, uint64(10), tr.Stats().Stored)
}

func TestAFullStreamHoldsEventsInTheQueue(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	cfg := single(s.ClientURL())
	cfg.MaxBytes = 20 << 10
	tracker := quick(&footfalltest.Log{})
	tr := open(t, tracker, cfg)
	track(t, tr, 1000)
	err := flushWithin(tr, time.Second)
	require.ErrorContains(t, err, "maximum bytes exceeded")
	stats := tr.Stats()
	assert.Positive(t, stats.Stored)
	assert.Equal(t, uint64(1000), stats.Stored+stats.Queued)
	js := manage(t, s.ClientURL())
	assert.Equal(t, int(stats.Stored), messages(t, js, "FOOTFALL"))
	api := footfalltest.NewAPI(t)
	relay(t, api, cfg, stream.RelayConfig{})
	require.NoError(t, flushWithin(tr, patience))
	arrive(t, api, 1000)
	assert.Equal(t, uint64(1000), tr.Stats().Stored)
}

func TestAMessageThatNATSDoesNotTakeIsRejected(t *testing.T) {
	t.Parallel()
	s := startServer(t, func(o *server.Options) { o.MaxPayload = 1000 })
	refused := make(chan error, 1)
	tracker := quick(&footfalltest.Log{})
	tracker.OnRejected = func(err *footfall.RejectedError) { refused <- err }
	tr := open(t, tracker, single(s.ClientURL()))
	require.NoError(t, tr.Track(t.Context(), "big", footfall.P("text", strings.Repeat("x", 1500))))
	require.NoError(t, flushWithin(tr, patience))
	err := <-refused
	require.ErrorContains(t, err, "the store answered 413 too_large: ")
	require.ErrorContains(t, err, "raise max_payload")
	publish(t, tr, 1)
	assert.Equal(t, uint64(1), tr.Stats().Rejected)
}

func TestConfigReportsEveryProblem(t *testing.T) {
	t.Parallel()
	_, err := stream.Open(footfall.Config{SiteID: "site_1", MaxInFlight: -1}, stream.Config{
		Name: "a.b", Subject: "a.*", Replicas: 2, MaxBytes: -1, RejectedMaxBytes: -1, DuplicateWindow: -1, Timeout: -1,
	})
	for _, field := range []string{"MaxInFlight", "stream.Config.Name", "Subject", "Replicas", "MaxBytes", "RejectedMaxBytes", "DuplicateWindow", "Timeout"} {
		require.ErrorContains(t, err, field)
	}
	_, err = stream.NewRelay(footfall.Config{}, stream.Config{Replicas: 4}, stream.RelayConfig{AckWait: -1, MaxAckPending: -1, MaxHeld: -1, Rate: -1, StopTimeout: -1})
	for _, field := range []string{"BaseURL", "Replicas", "AckWait", "MaxAckPending", "MaxHeld", "Rate", "StopTimeout"} {
		require.ErrorContains(t, err, field)
	}
	_, err = stream.Open(quick(&footfalltest.Log{}), stream.Config{MaxAge: time.Minute, DuplicateWindow: time.Hour})
	require.ErrorContains(t, err, "longer than MaxAge, 1m0s,")
}

func TestAnAddressThatIsNoneIsAnErrorWithoutItsPassword(t *testing.T) {
	t.Parallel()
	_, err := stream.Open(quick(&footfalltest.Log{}), single("nats://shop:secret-word@127.0.0.1:port"))
	require.ErrorContains(t, err, "invalid port")
	assert.NotContains(t, err.Error(), "secret-word")
	tracker := quick(&footfalltest.Log{})
	tracker.Transport = &stream.Stream{}
	_, err = stream.Open(tracker, single(""))
	require.ErrorContains(t, err, "Config.Transport")
}

func TestAServerWithoutATrustedCertificateIsAnError(t *testing.T) {
	t.Parallel()
	web := httptest.NewUnstartedServer(nil)
	web.StartTLS()
	t.Cleanup(web.Close)
	s := startServer(t, func(o *server.Options) { o.TLS, o.TLSConfig = true, web.TLS })
	cfg := single(s.ClientURL())
	cfg.Options = []nats.Option{nats.Secure(&tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12})}
	_, err := stream.Open(quick(&footfalltest.Log{}), cfg)
	require.ErrorContains(t, err, "certificate signed by unknown authority")
	trusted := x509.NewCertPool()
	trusted.AddCert(web.Certificate())
	cfg.Options = []nats.Option{nats.Secure(&tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12})}
	publish(t, open(t, quick(&footfalltest.Log{}), cfg), 1)
}

func TestADisabledTrackerConnectsToNothing(t *testing.T) {
	t.Parallel()
	tr, err := stream.Open(footfall.Config{Disabled: true}, stream.Config{Replicas: 99})
	require.NoError(t, err)
	require.NoError(t, tr.Track(t.Context(), "tested"))
	require.NoError(t, closeWithin(tr, time.Second))
}

func TestAConnectionOfTheApplicationStaysOpen(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	nc, err := nats.Connect(s.ClientURL())
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	cfg := single("")
	cfg.Conn = nc
	tr := open(t, quick(&footfalltest.Log{}), cfg)
	publish(t, tr, 10)
	require.NoError(t, closeWithin(tr, patience))
	assert.True(t, nc.IsConnected())
	unused, err := stream.New(quick(&footfalltest.Log{}), cfg)
	require.NoError(t, err)
	require.NoError(t, unused.Close())
	assert.True(t, nc.IsConnected())
}
