//go:build unix

package stream_test

import (
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
	"github.com/footfall-dev/footfall/stream"
)

// A tracker whose connection takes no bytes.
func TestCloseEndsInTimeWhenWritesBlock(t *testing.T) {
	t.Parallel()
	n := startNode(t, "")
	awaitJetStream(t, n.url)
	cfg := single(n.url)
	tracker := quick(&footfalltest.Log{})
	tracker.MaxEventBytes, tracker.Limits.PropText, tracker.MaxQueueBytes = 1<<20, 1<<20, 256<<20
	tr := open(t, tracker, cfg)
	publish(t, tr, 10)
	require.NoError(t, n.run.Process.Signal(syscall.SIGSTOP))
	large := strings.Repeat("x", 200<<10)
	for range 200 {
		require.NoError(t, tr.Track(t.Context(), "tested", footfall.P("p", large)))
	}
	require.Error(t, flushWithin(tr, time.Second))
	began := time.Now()
	require.Error(t, closeWithin(tr, time.Second))
	assert.Less(t, time.Since(began), time.Second+cfg.Timeout+time.Second)
}

// A relay that hangs for longer than AckWait is taken over, and its events are counted once.
func TestEventsOfARelayThatHangsAreRedelivered(t *testing.T) {
	t.Parallel()
	s, api := startServer(t), footfalltest.NewAPI(t)
	cfg := single(s.ClientURL())
	publish(t, open(t, quick(&footfalltest.Log{}), cfg), 300)
	api.Always(footfalltest.Hang())
	hung := victim(t, s.ClientURL(), api.Config().BaseURL, "1")
	require.Eventually(t, func() bool { return len(api.Requests()) >= 10 }, patience, time.Millisecond)
	require.NoError(t, hung.Process.Signal(syscall.SIGSTOP))
	api.Always(footfalltest.Accept())
	r := relay(t, api, cfg, stream.RelayConfig{AckWait: killedAckWait})
	arrive(t, api, 300)
	assert.Positive(t, r.Stats().Redelivered)
	require.NoError(t, hung.Process.Signal(syscall.SIGCONT))
	empty(t, manage(t, s.ClientURL()))
	time.Sleep(500 * time.Millisecond) // it may send again what it held
	assert.Len(t, api.Events(), 300)
	bodies := make(map[string]string)
	for _, q := range api.Requests() {
		if first, again := bodies[q.ID]; again {
			assert.JSONEq(t, first, string(q.Body), "the same key and the same event")
		}
		bodies[q.ID] = string(q.Body)
	}
	assert.Len(t, bodies, 300)
}

// A relay that hung while its stream was deleted and created again acknowledges positions that other
// events have now.
func TestAcknowledgementsOfADeletedStreamRemoveNothing(t *testing.T) {
	t.Parallel()
	s, first, second := startServer(t), footfalltest.NewAPI(t), footfalltest.NewAPI(t)
	answer := make(chan struct{})
	first.Always(func(a *footfalltest.API, w http.ResponseWriter, r *http.Request, e footfalltest.Event) {
		<-answer
		footfalltest.Accept()(a, w, r, e)
	})
	second.Always(footfalltest.Status(http.StatusServiceUnavailable))
	js := manage(t, s.ClientURL())
	store := func(name string) {
		t.Helper()
		tr := open(t, quick(&footfalltest.Log{}), single(s.ClientURL()))
		for range 300 {
			require.NoError(t, tr.Track(t.Context(), name))
		}
		require.NoError(t, closeWithin(tr, patience))
	}
	store("deleted")
	hung := victim(t, s.ClientURL(), first.Config().BaseURL, "1")
	require.Eventually(t, func() bool { return len(first.Requests()) >= 10 }, patience, 10*time.Millisecond)
	require.NoError(t, hung.Process.Signal(syscall.SIGSTOP))

	require.NoError(t, js.DeleteStream(t.Context(), "FOOTFALL"))
	store("remaining")
	killed := victim(t, s.ClientURL(), second.Config().BaseURL, "1")
	require.Eventually(t, func() bool {
		c, err := js.Consumer(t.Context(), "FOOTFALL", "footfall-relay")
		return err == nil && c.CachedInfo().NumAckPending == 300
	}, patience, 10*time.Millisecond)
	require.NoError(t, killed.Process.Kill())
	_ = killed.Wait()
	close(answer)
	require.NoError(t, hung.Process.Signal(syscall.SIGCONT))
	empty(t, js)
	remaining := 0
	for _, e := range first.Events() {
		if e.Name == "remaining" {
			remaining++
		}
	}
	assert.Equal(t, 300, remaining)
}
