package stream_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
	"github.com/footfall-dev/footfall/stream"
)

func TestStoredEventsSurviveAKillOfTheServer(t *testing.T) {
	t.Parallel()
	n := startNode(t, "")
	awaitJetStream(t, n.url)
	cfg := single(n.url)
	tr := open(t, quick(&footfalltest.Log{}), cfg)
	publish(t, tr, 500)
	stored := make(chan uint64)
	go func() {
		for range 2000 {
			_ = tr.Track(t.Context(), "tested")
		}
		_ = flushWithin(tr, 20*time.Millisecond)
		stored <- tr.Stats().Stored
	}()
	<-stored
	n.kill()
	kept := tr.Stats().Stored
	track(t, tr, 500)
	require.Error(t, flushWithin(tr, 100*time.Millisecond))
	n.start()
	require.NoError(t, flushWithin(tr, patience))
	assert.Equal(t, uint64(3000), tr.Stats().Stored)
	assert.GreaterOrEqual(t, kept, uint64(500))
	assert.Equal(t, 3000, messages(t, manage(t, n.url), "FOOTFALL"), "each once")
}

func TestCloseWaitsForAServerThatStartsAgain(t *testing.T) {
	t.Parallel()
	n := startNode(t, "")
	awaitJetStream(t, n.url)
	tr := open(t, quick(&footfalltest.Log{}), single(n.url))
	publish(t, tr, 1)
	n.kill()
	track(t, tr, 50)
	closed := make(chan error, 1)
	go func() { closed <- closeWithin(tr, 25*time.Second) }()
	time.Sleep(3 * time.Second) // more than the first attempts take
	n.start()
	require.NoError(t, <-closed)
	assert.Equal(t, 51, messages(t, manage(t, n.url), "FOOTFALL"))
}

func TestARelaySurvivesAKillOfTheServer(t *testing.T) {
	t.Parallel()
	n, api := startNode(t, ""), footfalltest.NewAPI(t)
	awaitJetStream(t, n.url)
	cfg := single(n.url)
	tr := open(t, quick(&footfalltest.Log{}), cfg)
	api.Always(footfalltest.Delay(20*time.Millisecond, footfalltest.Accept()))
	relay(t, api, cfg, stream.RelayConfig{AckWait: 2 * time.Second})
	publish(t, tr, 1000)
	require.Eventually(t, func() bool { return len(api.Events()) > 100 }, patience, time.Millisecond)
	n.kill()
	track(t, tr, 1000)
	n.start()
	require.NoError(t, flushWithin(tr, patience))
	arrive(t, api, 2000)
}

func TestAnApplicationKilledAfterTrackDurableLosesNothing(t *testing.T) {
	t.Parallel()
	s, api := startServer(t), footfalltest.NewAPI(t)
	self, err := os.Executable()
	require.NoError(t, err)
	app := exec.Command(self)
	app.Env = append(os.Environ(), appURL+"="+s.ClientURL())
	app.Stderr = os.Stderr
	out, err := app.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, app.Start())
	_, err = out.Read(make([]byte, 1)) // TrackDurable has returned
	require.NoError(t, err)
	require.NoError(t, app.Process.Kill())
	_ = app.Wait()
	relay(t, api, single(s.ClientURL()), stream.RelayConfig{})
	arrive(t, api, 1)
}

// appURL is the variable that makes the test binary an application, and appRound makes it track
// events until it is killed.
const (
	appURL   = "FOOTFALL_TEST_APP_NATS"
	appRound = "FOOTFALL_TEST_APP_ROUND"
)

// runApp tracks an event durably, says so, and waits to be killed.
func runApp(url string) {
	if round := os.Getenv(appRound); round != "" {
		runRound(url, round)
	}
	tr, err := stream.Open(quick(&footfalltest.Log{}), single(url))
	if err != nil {
		panic(err)
	}
	if err := tr.TrackDurable(context.Background(), footfall.Event{Name: "paid"}); err != nil {
		panic(err)
	}
	os.Stdout.WriteString("1")
	select {}
}

// runRound tracks events durably, and prints the key of each event that is Stored.
func runRound(url, round string) {
	cfg := single(url)
	cfg.Replicas, cfg.MaxBytes = 3, 256<<20
	tr, err := stream.Open(quick(&footfalltest.Log{}), cfg)
	if err != nil {
		panic(err)
	}
	for i := 0; ; i++ {
		key := fmt.Sprint(round, ".", i)
		if tr.TrackDurable(context.Background(), footfall.Event{Name: "durable", Props: []footfall.Prop{footfall.P("key", key)}}) == nil {
			fmt.Println(key)
		}
	}
}

// leaderOf waits until the stream has a leader, and returns it.
func leaderOf(t testing.TB, nodes []*node, urls string) *node {
	t.Helper()
	js, name := manage(t, urls), ""
	require.Eventually(t, func() bool {
		s, err := js.Stream(t.Context(), "FOOTFALL")
		if err == nil {
			name = s.CachedInfo().Cluster.Leader
		}
		return name != ""
	}, patience, 100*time.Millisecond)
	return nodes[name[1]-'0']
}
