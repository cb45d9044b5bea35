package stream_test

import (
	"fmt"
	"math"
	"net/http"
	"strings"
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

// Not parallel: testing.AllocsPerRun counts the allocations of the whole process.
func TestTrackAllocatesNothing(t *testing.T) {
	tracker := quick(&footfalltest.Log{})
	tracker.FlushInterval, tracker.MaxQueueBytes = time.Hour, 64<<20
	tr := open(t, tracker, single("nats://"+hostPort(freePort(t))))
	ctx := t.Context()
	allocs := math.Inf(1)
	for range 25 { // in some of them the transport, which holds events while NATS is away, does not run
		allocs = min(allocs, testing.AllocsPerRun(200, func() {
			_ = tr.Track(ctx, "tested", footfall.P("plan", "pro"), footfall.P("amount", 4999))
		}))
	}
	assert.Zero(t, allocs)
	assert.Zero(t, tr.Stats().Refused)
}

func TestAFullStreamOpensTheCircuitBreaker(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	cfg := single(s.ClientURL())
	cfg.MaxBytes = 20 << 10
	tracker := quick(&footfalltest.Log{})
	tracker.BackoffMin, tracker.BackoffMax, tracker.MaxInFlight = 500*time.Millisecond, time.Hour, 16
	tr := open(t, tracker, cfg)
	track(t, tr, 1000)
	require.ErrorContains(t, flushWithin(tr, time.Second), "maximum bytes exceeded")
	before, err := s.Varz(nil)
	require.NoError(t, err)
	require.Error(t, flushWithin(tr, 2*time.Second))
	after, err := s.Varz(nil)
	require.NoError(t, err)
	assert.Less(t, after.InMsgs-before.InMsgs, int64(60), "a few of 700 events are tried")
}

func TestAQueueThatIsFullRefusesEventsWhileNATSIsAway(t *testing.T) {
	t.Parallel()
	port := freePort(t)
	cfg := single("nats://" + hostPort(port))
	tracker := quick(&footfalltest.Log{})
	tracker.MaxQueueEvents = 100
	tr := open(t, tracker, cfg)
	track(t, tr, 100)
	require.ErrorIs(t, tr.Track(t.Context(), "tested"), footfall.ErrQueueFull)
	startServer(t, func(o *server.Options) { o.Port = port })
	require.NoError(t, flushWithin(tr, patience))
	assert.Equal(t, uint64(100), tr.Stats().Stored)
	publish(t, tr, 100)
}

// Five minutes with the default backoff, compressed: the times of the backoff are a fiftieth of their
// defaults, so that the relay makes as many steps. The outage is three times as long as AckWait.
func TestAnAPIThatIsDownForMinutesGetsARequestPerStep(t *testing.T) {
	t.Parallel()
	s, api := startServer(t), footfalltest.NewAPI(t)
	cfg := single(s.ClientURL())
	publish(t, open(t, quick(&footfalltest.Log{}), cfg), 1000)
	api.Always(footfalltest.Status(http.StatusServiceUnavailable))
	r := relay(t, api, cfg, stream.RelayConfig{AckWait: 2 * time.Second}, func(c *footfall.Config) {
		c.BackoffMin, c.BackoffMax, c.MaxInFlight = 10*time.Millisecond, 300*time.Millisecond, 16
	})
	time.Sleep(6 * time.Second)
	requests := len(api.Requests())
	t.Logf("%d requests in the outage", requests)
	// 16 senders when it begins, 10 failures until the breaker opens, 10 short steps, and 40 of the
	// longest step, each with a new event beside the probe.
	assert.Less(t, requests, 16+10+2*(10+40)+40)
	assert.Zero(t, r.Stats().Redelivered)
	assert.Equal(t, 1000, r.Stats().Held)
	api.Always(footfalltest.Accept())
	arrive(t, api, 1000)
	assert.Zero(t, r.Stats().Redelivered)
}

func TestCredentialsThatAreRevokedHoldEventsUntilTheyAreValid(t *testing.T) {
	t.Parallel()
	with := func(password string) *server.Options {
		return &server.Options{
			Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true,
			Username: "shop", Password: password,
		}
	}
	options := with("old")
	s := startServer(t, func(o *server.Options) { *o = *options })
	change := func(password string) {
		changed := options.Clone()
		changed.Password = password
		require.NoError(t, s.ReloadOptions(changed))
	}
	api, cfg := footfalltest.NewAPI(t), single(s.ClientURL())
	cfg.Options = []nats.Option{nats.UserInfo("shop", "old")}
	tr := open(t, quick(&footfalltest.Log{}), cfg)
	r := relay(t, api, cfg, stream.RelayConfig{AckWait: time.Second})
	publish(t, tr, 100)
	change("new")
	require.Eventually(t, func() bool { return r.Ready() != nil }, patience, time.Millisecond)
	track(t, tr, 100)
	require.Eventually(t, func() bool {
		return strings.Contains(fmt.Sprint(flushWithin(tr, 50*time.Millisecond)), "Authorization Violation")
	}, patience, time.Millisecond)
	change("old")
	require.NoError(t, flushWithin(tr, patience))
	arrive(t, api, 200)
	require.NoError(t, r.Ready())
}

func TestTheStreamOfRejectedEventsIsBounded(t *testing.T) {
	t.Parallel()
	s, api := startServer(t), footfalltest.NewAPI(t)
	cfg := single(s.ClientURL())
	cfg.RejectedMaxBytes = 20 << 10
	api.Always(footfalltest.Status(http.StatusUnprocessableEntity))
	r := relay(t, api, cfg, stream.RelayConfig{})
	tr := open(t, quick(&footfalltest.Log{}), cfg)
	publish(t, tr, 500)
	require.Eventually(t, func() bool { return r.Stats().Rejected == 500 }, patience, time.Millisecond)
	rejections, err := stream.OpenRejections(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(rejections.Close)
	all := list(t, rejections)
	assert.Less(t, len(all), 200)
	require.NotEmpty(t, all)
	assert.Equal(t, uint64(500), all[len(all)-1].Seq, "the oldest are removed")
}

func TestRejectedEventsThatCannotBeMovedDoNotHoldUpOthers(t *testing.T) {
	t.Parallel()
	s := startServer(t, func(o *server.Options) { o.Users = users("footfall.events.rejected") })
	api, cfg := footfalltest.NewAPI(t), single(s.ClientURL())
	cfg.Timeout = 300 * time.Millisecond
	cfg.Options = []nats.Option{nats.UserInfo("all", "a")}
	tr := open(t, quick(&footfalltest.Log{}), cfg)
	for range 100 {
		require.NoError(t, tr.Track(t.Context(), "bad"))
	}
	require.NoError(t, flushWithin(tr, patience))
	publish(t, tr, 200)
	api.Always(func(a *footfalltest.API, w http.ResponseWriter, r *http.Request, e footfalltest.Event) {
		if e.Name == "bad" {
			footfalltest.Status(http.StatusUnprocessableEntity)(a, w, r, e)
			return
		}
		footfalltest.Accept()(a, w, r, e)
	})
	forbidden := cfg
	forbidden.Options = []nats.Option{nats.UserInfo("relay", "r")}
	c := stream.RelayConfig{MaxHeld: 32, AckWait: 3 * time.Second, StopTimeout: 300 * time.Millisecond} // fewer than are bad
	r := relay(t, api, forbidden, c)
	require.Eventually(t, func() bool { return len(api.Events()) == 200 }, patience, time.Millisecond)
	assert.Zero(t, r.Stats().Rejected)
	require.NoError(t, r.stop())
	next := relay(t, api, cfg, c)
	require.Eventually(t, func() bool { return next.Stats().Rejected == 100 }, patience, time.Millisecond)
	require.Eventually(t, func() bool {
		lag, err := next.Lag(t.Context())
		return err == nil && lag.Events == 0 && lag.Rejected == 100 // each once
	}, patience, 10*time.Millisecond)
}
