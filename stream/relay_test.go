package stream_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
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

func TestARelayDeliversWithTheIDOfTheEvent(t *testing.T) {
	t.Parallel()
	s, api := startServer(t), footfalltest.NewAPI(t)
	cfg := single(s.ClientURL())
	publish(t, open(t, quick(&footfalltest.Log{}), cfg), 1)
	js := manage(t, s.ClientURL())
	st, err := js.Stream(t.Context(), "FOOTFALL")
	require.NoError(t, err)
	m, err := st.GetMsg(t.Context(), 1)
	require.NoError(t, err)
	r := relay(t, api, cfg, stream.RelayConfig{})
	arrive(t, api, 1)
	assert.Equal(t, m.Header.Get(jetstream.MsgIDHeader), api.Requests()[0].ID)
	assert.Equal(t, string(m.Data), string(api.Requests()[0].Body))
	empty(t, js)
	require.NoError(t, r.Ready())
	assert.Equal(t, stream.Stats{Taken: 1, Delivered: 1}, r.Stats())
	require.NoError(t, r.stop())
	require.Error(t, r.Ready())
	require.Error(t, r.Run(t.Context()), "once only")
}

func TestTwoRelaysShareTheWork(t *testing.T) {
	t.Parallel()
	s, api := startServer(t), footfalltest.NewAPI(t)
	cfg := single(s.ClientURL())
	tr := open(t, quick(&footfalltest.Log{}), cfg)
	api.Always(footfalltest.Delay(5*time.Millisecond, footfalltest.Accept()))
	c := stream.RelayConfig{MaxHeld: 32}
	one, two := relay(t, api, cfg, c), relay(t, api, cfg, c)
	publish(t, tr, 2000)
	arrive(t, api, 2000)
	empty(t, manage(t, s.ClientURL()))
	assert.Greater(t, one.Stats().Delivered, uint64(200))
	assert.Greater(t, two.Stats().Delivered, uint64(200))
	assert.Len(t, api.Requests(), 2000, "none twice")
}

func TestARelayExtendsAckWaitWhileTheAPIIsDown(t *testing.T) {
	t.Parallel()
	s, api := startServer(t), footfalltest.NewAPI(t)
	cfg := single(s.ClientURL())
	publish(t, open(t, quick(&footfalltest.Log{}), cfg), 200)
	api.Always(footfalltest.Status(503))
	c := stream.RelayConfig{AckWait: 600 * time.Millisecond}
	one := relay(t, api, cfg, c)
	require.Eventually(t, func() bool { return one.Stats().Held == 200 }, patience, time.Millisecond)
	two := relay(t, api, cfg, c)
	time.Sleep(2500 * time.Millisecond) // four times AckWait, on the clock of the server
	assert.Zero(t, one.Stats().Redelivered)
	assert.Zero(t, two.Stats().Taken)
	require.ErrorContains(t, one.Failure(), "503")
	lag, err := one.Lag(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []int{200, 200}, []int{int(lag.Events), lag.Held})
	assert.Greater(t, lag.Oldest, 2*time.Second)
	api.Always(footfalltest.Accept())
	arrive(t, api, 200)
	assert.Zero(t, one.Stats().Redelivered+two.Stats().Redelivered)
}

func TestEventsThatExpireBeforeARelayTakesThemAreCountedAndLogged(t *testing.T) {
	t.Parallel()
	s, api := startServer(t), footfalltest.NewAPI(t)
	cfg := single(s.ClientURL())
	cfg.MaxAge, cfg.DuplicateWindow = time.Second, time.Second
	tr := open(t, quick(&footfalltest.Log{}), cfg)
	one := relay(t, api, cfg, stream.RelayConfig{})
	publish(t, tr, 5)
	arrive(t, api, 5)
	require.NoError(t, one.stop())
	publish(t, tr, 20)
	empty(t, manage(t, s.ClientURL()))
	lag, err := stream.Inspect(t.Context(), cfg, stream.RelayConfig{})
	require.NoError(t, err)
	assert.EqualValues(t, 20, lag.Expired)
	var log footfalltest.Log
	cfg.Logger = log.Logger()
	two := relay(t, api, cfg, stream.RelayConfig{})
	assert.Contains(t, log.String(), "NATS has removed events that no relay had taken, because of their age or by a purge\" stream=FOOTFALL events=20")
	publish(t, tr, 3)
	arrive(t, api, 8)
	lag, err = two.Lag(t.Context())
	require.NoError(t, err)
	assert.Zero(t, lag.Expired)
}

func TestASlowAPIGetsEachEventOnce(t *testing.T) {
	t.Parallel()
	s, api := startServer(t), footfalltest.NewAPI(t)
	cfg := single(s.ClientURL())
	publish(t, open(t, quick(&footfalltest.Log{}), cfg), 50)
	api.Always(footfalltest.Delay(4*time.Second, footfalltest.Accept()))
	r := relay(t, api, cfg, stream.RelayConfig{AckWait: 2 * time.Second})
	arrive(t, api, 50)
	empty(t, manage(t, s.ClientURL()))
	assert.Len(t, api.Requests(), 50)
	assert.Zero(t, r.Stats().Redelivered)
}

func TestMaxAckPendingBoundsWhatRelaysHold(t *testing.T) {
	t.Parallel()
	s, api := startServer(t), footfalltest.NewAPI(t)
	cfg := single(s.ClientURL())
	publish(t, open(t, quick(&footfalltest.Log{}), cfg), 200)
	api.Always(footfalltest.Status(503))
	c := stream.RelayConfig{MaxAckPending: 50, MaxHeld: 40}
	one, two := relay(t, api, cfg, c), relay(t, api, cfg, c)
	require.Eventually(t, func() bool { return one.Stats().Held+two.Stats().Held == 50 }, patience, time.Millisecond)
	time.Sleep(300 * time.Millisecond)
	assert.Equal(t, 50, one.Stats().Held+two.Stats().Held)
	api.Always(footfalltest.Accept())
	arrive(t, api, 200)
}

func TestStopHandsBackWhatIsNotDelivered(t *testing.T) {
	t.Parallel()
	s, down, api := startServer(t), footfalltest.NewAPI(t), footfalltest.NewAPI(t)
	cfg := single(s.ClientURL())
	publish(t, open(t, quick(&footfalltest.Log{}), cfg), 300)
	down.Always(footfalltest.Status(503))
	first := relay(t, down, cfg, stream.RelayConfig{AckWait: time.Hour})
	require.Eventually(t, func() bool { return first.Stats().Held == 300 }, patience, time.Millisecond)
	began := time.Now()
	require.NoError(t, first.stop())
	assert.Less(t, time.Since(began), 4*time.Second)
	assert.Equal(t, stream.Stats{Taken: 300, HandedBack: 300}, first.Stats())
	relay(t, api, cfg, stream.RelayConfig{AckWait: time.Hour})
	arrive(t, api, 300)
	c, err := manage(t, s.ClientURL()).Consumer(t.Context(), "FOOTFALL", "footfall-relay")
	require.NoError(t, err)
	assert.Equal(t, uint64(600), c.CachedInfo().Delivered.Consumer, "each to both relays")
}

func TestStopWaitsForTheAnswerOfTheAPI(t *testing.T) {
	t.Parallel()
	s, api := startServer(t), footfalltest.NewAPI(t)
	cfg := single(s.ClientURL())
	publish(t, open(t, quick(&footfalltest.Log{}), cfg), 5)
	api.Always(footfalltest.Delay(500*time.Millisecond, footfalltest.Accept()))
	r := relay(t, api, cfg, stream.RelayConfig{AckWait: time.Hour})
	require.Eventually(t, func() bool { return len(api.Requests()) == 5 }, patience, time.Millisecond)
	require.NoError(t, r.stop())
	assert.Equal(t, uint64(5), r.Stats().Delivered)
	empty(t, manage(t, s.ClientURL()))
}

func TestStopEndsInTimeWhenTheAPIHangs(t *testing.T) {
	t.Parallel()
	s, api, next := startServer(t), footfalltest.NewAPI(t), footfalltest.NewAPI(t)
	cfg := single(s.ClientURL())
	publish(t, open(t, quick(&footfalltest.Log{}), cfg), 5)
	api.Always(footfalltest.Hang())
	r := relay(t, api, cfg, stream.RelayConfig{AckWait: time.Hour, StopTimeout: 200 * time.Millisecond})
	require.Eventually(t, func() bool { return len(api.Requests()) == 5 }, patience, time.Millisecond)
	began := time.Now()
	require.NoError(t, r.stop())
	assert.Less(t, time.Since(began), 4*time.Second)
	relay(t, next, cfg, stream.RelayConfig{AckWait: time.Hour})
	arrive(t, next, 5)
}

func TestRateBoundsDeliveries(t *testing.T) {
	t.Parallel()
	s, api := startServer(t), footfalltest.NewAPI(t)
	cfg := single(s.ClientURL())
	publish(t, open(t, quick(&footfalltest.Log{}), cfg), 1000)
	r := relay(t, api, cfg, stream.RelayConfig{Rate: 50, AckWait: time.Second})
	began := time.Now()
	require.Eventually(t, func() bool { return len(api.Requests()) >= 100 }, patience, time.Millisecond)
	assert.Greater(t, time.Since(began), 1500*time.Millisecond)
	assert.Zero(t, r.Stats().Redelivered)
}

func TestAStreamMayBeDeletedAndCreatedAgain(t *testing.T) {
	t.Parallel()
	s, api := startServer(t), footfalltest.NewAPI(t)
	cfg := single(s.ClientURL())
	tr := open(t, quick(&footfalltest.Log{}), cfg)
	relay(t, api, cfg, stream.RelayConfig{})
	publish(t, tr, 10)
	arrive(t, api, 10)
	require.NoError(t, manage(t, s.ClientURL()).DeleteStream(t.Context(), "FOOTFALL"))
	publish(t, tr, 10)
	arrive(t, api, 20)
}

func TestATrackerCreatesADeletedStreamAgain(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	tr := open(t, quick(&footfalltest.Log{}), single(s.ClientURL()))
	publish(t, tr, 10)
	js := manage(t, s.ClientURL())
	require.NoError(t, js.DeleteStream(t.Context(), "FOOTFALL"))
	publish(t, tr, 10)
	assert.Equal(t, 10, messages(t, js, "FOOTFALL"))
}

// relayURL is the variable that makes the test binary a relay, and relayAPI its API.
const (
	relayURL = "FOOTFALL_TEST_RELAY_NATS"
	relayAPI = "FOOTFALL_TEST_RELAY_API"

	relayReplicas = "FOOTFALL_TEST_RELAY_REPLICAS"
)

func runRelay(url string) {
	api := footfall.Config{BaseURL: os.Getenv(relayAPI), APIKey: footfalltest.Key, AllowHTTP: true}
	cfg := single(url)
	if os.Getenv(relayReplicas) == "3" {
		cfg.Replicas, cfg.MaxBytes = 3, 256<<20
	}
	r, err := stream.NewRelay(api, cfg, stream.RelayConfig{AckWait: killedAckWait})
	if err == nil {
		err = r.Run(context.Background())
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// killedAckWait is the AckWait of relays that tests kill.
const killedAckWait = 2 * time.Second

// victim starts a relay in its own process.
func victim(t testing.TB, url, api, replicas string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), relayURL+"="+url, relayAPI+"="+api, relayReplicas+"="+replicas)
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

func TestARelayKilledInTheMiddleOfAPOSTIsTakenOver(t *testing.T) {
	t.Parallel()
	s, api := startServer(t), footfalltest.NewAPI(t)
	cfg := single(s.ClientURL())
	publish(t, open(t, quick(&footfalltest.Log{}), cfg), 300)
	api.Always(footfalltest.Hang())
	killed := victim(t, s.ClientURL(), api.Config().BaseURL, "1")
	require.Eventually(t, func() bool { return len(api.Requests()) >= 10 }, patience, time.Millisecond)
	require.NoError(t, killed.Process.Kill())
	_ = killed.Wait()
	api.Always(footfalltest.Accept())
	began := time.Now()
	r := relay(t, api, cfg, stream.RelayConfig{AckWait: killedAckWait})
	arrive(t, api, 300)
	assert.Less(t, time.Since(began), killedAckWait+10*time.Second)
	assert.Positive(t, r.Stats().Redelivered)
	empty(t, manage(t, s.ClientURL()))
}

func TestRejectedEventsAreListedRetriedAndPurged(t *testing.T) {
	t.Parallel()
	s, api := startServer(t), footfalltest.NewAPI(t)
	cfg := single(s.ClientURL())
	tr := open(t, quick(&footfalltest.Log{}), cfg)
	js := manage(t, s.ClientURL())
	api.Always(footfalltest.Body(422, "application/json", `{"error":"unknown_site","message":"no such site:\n site_test","status":422}`))
	r := relay(t, api, cfg, stream.RelayConfig{})
	publish(t, tr, 3)
	require.Eventually(t, func() bool { return r.Stats().Rejected == 3 }, patience, time.Millisecond)
	empty(t, js)

	rejections, err := stream.OpenRejections(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(rejections.Close)
	all := list(t, rejections)
	require.Len(t, all, 3)
	sent := api.Requests()[0]
	found := false
	for _, e := range all {
		assert.Equal(t, []any{422, "unknown_site", "no such site:  site_test"}, []any{e.Status, e.Code, e.Message})
		assert.WithinDuration(t, time.Now(), e.Time, patience)
		found = found || e.ID == sent.ID && string(e.Body) == string(sent.Body)
	}
	assert.True(t, found)

	_, err = rejections.Retry(t.Context(), all[0].Seq) // rejected again
	require.NoError(t, err)
	require.Eventually(t, func() bool { return r.Stats().Rejected == 4 }, patience, time.Millisecond)
	assert.Len(t, list(t, rejections), 3)

	api.Always(footfalltest.Accept())
	n, err := rejections.Purge(t.Context(), all[1].Seq)
	require.NoError(t, err)
	assert.Equal(t, 1, n)
	n, err = rejections.Retry(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 2, n)
	arrive(t, api, 2)
	assert.Empty(t, list(t, rejections))
	_, err = rejections.Retry(t.Context(), 99)
	require.ErrorIs(t, err, jetstream.ErrMsgNotFound)
	lag, err := r.Lag(t.Context())
	require.NoError(t, err)
	assert.Zero(t, lag.Rejected)
}

func TestAllRejectedEventsAreRetriedOrPurged(t *testing.T) {
	t.Parallel()
	s, api := startServer(t), footfalltest.NewAPI(t)
	cfg := single(s.ClientURL())
	cfg.MaxBytes = 100 << 10 // fewer events than are rejected
	tr := open(t, quick(&footfalltest.Log{}), cfg)
	api.Always(footfalltest.Status(http.StatusUnprocessableEntity))
	r := relay(t, api, cfg, stream.RelayConfig{})
	publish(t, tr, 1000)
	require.Eventually(t, func() bool { return r.Stats().Rejected == 1000 }, patience, time.Millisecond)
	require.NoError(t, r.stop())

	rejections, err := stream.OpenRejections(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(rejections.Close)
	some, err := rejections.Retry(t.Context())
	require.ErrorContains(t, err, "maximum bytes exceeded")
	assert.Positive(t, some)
	assert.Equal(t, some, messages(t, manage(t, s.ClientURL()), "FOOTFALL"))
	assert.Len(t, list(t, rejections), 1000-some)

	next := footfalltest.NewAPI(t)
	last := relay(t, next, cfg, stream.RelayConfig{})
	retried := 0
	require.Eventually(t, func() bool {
		n, err := rejections.Retry(t.Context())
		retried += n
		return err == nil
	}, patience, 10*time.Millisecond)
	assert.Equal(t, 1000-some, retried)
	arrive(t, next, 1000)
	assert.Len(t, next.Requests(), 1000, "none twice")
	require.NoError(t, last.stop())

	relay(t, api, cfg, stream.RelayConfig{})
	publish(t, tr, 500)
	require.Eventually(t, func() bool { return len(list(t, rejections)) == 500 }, patience, 10*time.Millisecond)
	n, err := rejections.Purge(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 500, n)
	assert.Empty(t, list(t, rejections))
}

func TestTailSeesWhatIsPublishedAndTakesNothing(t *testing.T) {
	t.Parallel()
	s, api := startServer(t), footfalltest.NewAPI(t)
	cfg := single(s.ClientURL())
	tr := open(t, quick(&footfalltest.Log{}), cfg)
	ctx, cancel := context.WithCancel(t.Context())
	seen, done := make(chan stream.Event, 1000), make(chan error)
	go func() { done <- stream.Tail(ctx, cfg, func(e stream.Event) { seen <- e }) }()
	require.Eventually(t, func() bool { publish(t, tr, 1); return len(seen) > 0 }, patience, 10*time.Millisecond)
	relay(t, api, cfg, stream.RelayConfig{})
	arrive(t, api, int(tr.Stats().Stored))
	e := <-seen
	posted := false
	for _, r := range api.Requests() {
		posted = posted || r.ID == e.ID && string(r.Body) == string(e.Body)
	}
	assert.True(t, posted)
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	require.Error(t, stream.Tail(t.Context(), stream.Config{Replicas: 2}, nil))
}

func list(t testing.TB, r *stream.Rejections) (all []stream.Rejected) {
	t.Helper()
	for e, err := range r.All(t.Context()) {
		require.NoError(t, err)
		all = append(all, e)
	}
	return all
}

func TestAMessageThatIsNoEventIsRejected(t *testing.T) {
	t.Parallel()
	s, api := startServer(t), footfalltest.NewAPI(t)
	cfg := single(s.ClientURL())
	r := relay(t, api, cfg, stream.RelayConfig{})
	nc, err := nats.Connect(s.ClientURL())
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	require.NoError(t, nc.Publish("footfall.events", []byte("hello")))
	require.Eventually(t, func() bool { return r.Stats().Rejected == 1 }, patience, time.Millisecond)
	rejections, err := stream.OpenRejections(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(rejections.Close)
	all := list(t, rejections)
	require.Len(t, all, 1)
	assert.Equal(t, []any{"not_an_event", 0, "hello"}, []any{all[0].Code, all[0].Status, string(all[0].Body)})
	assert.Empty(t, api.Requests())
}

func TestRejectedEventsStayInTheStreamUntilTheyAreStored(t *testing.T) {
	t.Parallel()
	s := startServer(t, func(o *server.Options) { o.Users = users("footfall.events.rejected") })
	api, cfg := footfalltest.NewAPI(t), single(s.ClientURL())
	cfg.Timeout = 300 * time.Millisecond
	cfg.Options = []nats.Option{nats.UserInfo("all", "a")}
	publish(t, open(t, quick(&footfalltest.Log{}), cfg), 3)
	forbidden := cfg
	forbidden.Options = []nats.Option{nats.UserInfo("relay", "r")}
	api.Always(footfalltest.Status(422))
	r := relay(t, api, forbidden, stream.RelayConfig{StopTimeout: 300 * time.Millisecond})
	require.Eventually(t, func() bool { return len(api.Requests()) >= 3 }, patience, time.Millisecond)
	time.Sleep(500 * time.Millisecond)
	assert.Zero(t, r.Stats().Rejected)
	require.NoError(t, r.stop()) // hands them back
	assert.Equal(t, uint64(3), r.Stats().HandedBack)
	next := relay(t, api, cfg, stream.RelayConfig{})
	require.Eventually(t, func() bool { return next.Stats().Rejected == 3 }, patience, time.Millisecond)
}

func TestTheStreamOfRejectedEventsIsCreatedAgain(t *testing.T) {
	t.Parallel()
	s, api := startServer(t), footfalltest.NewAPI(t)
	cfg := single(s.ClientURL())
	api.Always(footfalltest.Status(422))
	r := relay(t, api, cfg, stream.RelayConfig{})
	require.Eventually(t, func() bool { return r.Ready() == nil }, patience, time.Millisecond)
	js := manage(t, s.ClientURL())
	require.NoError(t, js.DeleteStream(t.Context(), "FOOTFALL_REJECTED"))
	publish(t, open(t, quick(&footfalltest.Log{}), cfg), 3)
	require.Eventually(t, func() bool { return r.Stats().Rejected == 3 }, patience, time.Millisecond)
	assert.Equal(t, 3, messages(t, js, "FOOTFALL_REJECTED"))
}

func TestHandBackEndsTheWaitForAnswers(t *testing.T) {
	t.Parallel()
	cfg, api := single(startServer(t).ClientURL()), footfalltest.NewAPI(t)
	publish(t, open(t, quick(&footfalltest.Log{}), cfg), 20)
	api.Always(footfalltest.Hang())
	r := relay(t, api, cfg, stream.RelayConfig{AckWait: time.Hour, StopTimeout: time.Hour}, func(c *footfall.Config) { c.AttemptTimeout = time.Hour })
	require.Eventually(t, func() bool { return len(api.Requests()) > 0 }, patience, time.Millisecond)
	r.HandBack()
	require.NoError(t, r.stop())
	s := r.Stats()
	assert.Positive(t, s.Taken)
	assert.Equal(t, stream.Stats{Taken: s.Taken, HandedBack: s.Taken}, s)
	api.Always(footfalltest.Accept())
	relay(t, api, cfg, stream.RelayConfig{AckWait: time.Hour})
	arrive(t, api, 20)
}
