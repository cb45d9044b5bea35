package stream_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
	"github.com/footfall-dev/footfall/stream"
)

// rejectedEvents returns the stream of n rejected events.
func rejectedEvents(t testing.TB, n int) *stream.Rejections {
	t.Helper()
	return rejectedEventsOf(t, single(startServer(t).ClientURL()), n)
}

func rejectedEventsOf(t testing.TB, cfg stream.Config, n int) *stream.Rejections {
	t.Helper()
	api := footfalltest.NewAPI(t)
	api.Always(footfalltest.Status(422))
	r := relay(t, api, cfg, stream.RelayConfig{})
	publish(t, open(t, quick(&footfalltest.Log{}), cfg), n)
	require.Eventually(t, func() bool { return r.Stats().Rejected == uint64(n) }, patience, time.Millisecond)
	require.NoError(t, r.stop())
	return rejectionsOf(t, cfg)
}

func rejectionsOf(t testing.TB, cfg stream.Config) *stream.Rejections {
	t.Helper()
	rejections, err := stream.OpenRejections(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(rejections.Close)
	return rejections
}

func TestAPositionThatIsGivenTwiceCountsOnce(t *testing.T) {
	t.Parallel()
	r := rejectedEvents(t, 3)
	all := list(t, r)
	n, err := r.Retry(t.Context(), all[1].Seq, all[0].Seq, all[1].Seq)
	require.NoError(t, err)
	assert.Equal(t, 2, n)
	n, err = r.Purge(t.Context(), all[2].Seq, all[2].Seq)
	require.NoError(t, err)
	assert.Equal(t, 1, n)
	assert.Empty(t, list(t, r))
}

func TestRetryAndPurgeSayThatTheirContextHasEnded(t *testing.T) {
	t.Parallel()
	r := rejectedEvents(t, 2)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, f := range []func(context.Context, ...uint64) (int, error){r.Retry, r.Purge} {
		n, err := f(ended, 1, 2)
		require.ErrorIs(t, err, context.Canceled)
		assert.Zero(t, n)
	}
	assert.Len(t, list(t, r), 2)
}

// Commands of several operators, or of one whose terminal was closed.
func TestRetriesAndPurgesAtTheSameTimeDoNotStopEachOther(t *testing.T) {
	t.Parallel()
	_, urls := startCluster(t, "")
	for name, url := range map[string]string{"one server": "", "three replicas": urls} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := single(url)
			if url == "" {
				cfg = single(startServer(t).ClientURL())
			} else {
				cfg.Replicas = 3
			}
			const n = 1000
			first := rejectedEventsOf(t, cfg, n)
			seqs := make([]uint64, n)
			for i := range seqs {
				seqs[i] = uint64(i + 1)
			}
			calls := []func() (int, error){
				func() (int, error) { return first.Retry(t.Context()) },
				func() (int, error) { return rejectionsOf(t, cfg).Retry(t.Context()) },
				func() (int, error) { return rejectionsOf(t, cfg).Retry(t.Context(), seqs[:n/2]...) },
				func() (int, error) { return rejectionsOf(t, cfg).Purge(t.Context(), seqs[n*3/4:]...) },
			}
			moved, errs := make([]int, len(calls)), make([]error, len(calls))
			var running sync.WaitGroup
			for i, call := range calls {
				running.Go(func() { moved[i], errs[i] = call() })
			}
			running.Wait()
			for i, err := range errs {
				if i < 2 { // Others have removed what the last two name.
					require.NoError(t, err)
				} else if err != nil {
					require.ErrorIs(t, err, jetstream.ErrMsgNotFound)
				}
			}
			assert.Equal(t, n, moved[0]+moved[1]+moved[2]+moved[3], "each counts once: %v", moved)
			assert.Empty(t, list(t, first))
			api := footfalltest.NewAPI(t)
			relay(t, api, cfg, stream.RelayConfig{})
			empty(t, manage(t, cfg.URL))
			got := len(api.Events())
			assert.Len(t, api.Requests(), got, "none twice")
			assert.GreaterOrEqual(t, got, n-moved[3], "what was not purged")
		})
	}
}

func TestARetryBesideAPurgeOfAllEndsWithoutAnError(t *testing.T) {
	t.Parallel()
	cfg := single(startServer(t).ClientURL())
	first, second := rejectedEventsOf(t, cfg, 500), rejectionsOf(t, cfg)
	retried := make(chan error)
	go func() { _, err := first.Retry(t.Context()); retried <- err }()
	_, err := second.Purge(t.Context())
	require.NoError(t, err)
	require.NoError(t, <-retried)
	assert.Empty(t, list(t, first))
}

func TestPositionsWithoutAnEventAreSkipped(t *testing.T) {
	t.Parallel()
	r := rejectedEvents(t, 3)
	n, err := r.Purge(t.Context(), 7, 2, 8)
	require.ErrorIs(t, err, jetstream.ErrMsgNotFound)
	require.ErrorContains(t, err, "rejected event 7: ")
	require.ErrorContains(t, err, "and 1 more are missing")
	assert.Equal(t, 1, n)
	n, err = r.Retry(t.Context(), 3, 2, 1)
	require.ErrorContains(t, err, "rejected event 2: ")
	assert.Equal(t, 2, n)
	assert.Empty(t, list(t, r))
}

// The numbers of a stream begin again when it is created again, and NATS drops a message whose id it has
// seen within the duplicate window.
func TestEventsOfAStreamThatWasCreatedAgainAreNotDuplicates(t *testing.T) {
	t.Parallel()
	for _, created := range []string{"FOOTFALL", "FOOTFALL_REJECTED"} {
		t.Run(created, func(t *testing.T) {
			t.Parallel()
			cfg, api := single(startServer(t).ClientURL()), footfalltest.NewAPI(t)
			api.Always(footfalltest.Status(422))
			js := manage(t, cfg.URL)
			first := relay(t, api, cfg, stream.RelayConfig{})
			publish(t, open(t, quick(&footfalltest.Log{}), cfg), 3)
			rejected := func(r *running, n uint64) {
				t.Helper()
				require.Eventually(t, func() bool { return r.Stats().Rejected == n }, patience, time.Millisecond)
				empty(t, js)
				require.Equal(t, 3, messages(t, js, "FOOTFALL_REJECTED"))
			}
			retry := func() {
				t.Helper()
				n, err := rejectionsOf(t, cfg).Retry(t.Context())
				require.NoError(t, err)
				require.Equal(t, 3, n)
			}
			rejected(first, 3)
			if created == "FOOTFALL_REJECTED" {
				retry()
				rejected(first, 6)
				all := list(t, rejectionsOf(t, cfg))
				require.NoError(t, first.stop())
				require.NoError(t, js.DeleteStream(t.Context(), created))
				second := relay(t, api, cfg, stream.RelayConfig{})
				for _, e := range all { // the same numbers as before
					_, err := js.PublishMsg(t.Context(), &nats.Msg{Subject: "footfall.events.rejected", Header: nats.Header{"Footfall-Id": {e.ID}}, Data: e.Body})
					require.NoError(t, err)
				}
				retry()
				rejected(second, 3)
				return
			}
			require.NoError(t, first.stop())
			require.NoError(t, js.DeleteStream(t.Context(), created))
			second := relay(t, api, cfg, stream.RelayConfig{})
			retry()
			rejected(second, 3)
		})
	}
}

// NATS refuses a message above max_payload, headers included, and a rejected event has more headers
// than the event had.
func TestARejectedEventOfTheLargestSizeMoves(t *testing.T) {
	t.Parallel()
	const most = 8 << 10
	cfg := single(startServer(t, func(o *server.Options) { o.MaxPayload = most }).ClientURL())
	api := footfalltest.NewAPI(t)
	api.Always(footfalltest.Body(422, "application/json", `{"error":"invalid_request","message":"`+strings.Repeat("too long ", 30)+`","status":422}`))
	js := manage(t, cfg.URL)
	r := relay(t, api, cfg, stream.RelayConfig{})
	header := nats.Header{jetstream.MsgIDHeader: {uuid.NewString()}}
	const fixed = len("NATS/1.0\r\n" + "Nats-Msg-Id: 01234567-89ab-cdef-0123-456789abcdef\r\n" + "\r\n")
	sizes := []int{most - fixed, most - fixed - 150, most - fixed - 1000}
	for _, size := range sizes {
		header.Set(jetstream.MsgIDHeader, uuid.NewString())
		body := `{"site_id":"site_test","name":"large","url":"https://example.com/","props":{"text":""}}`
		body = strings.Replace(body, `""`, `"`+strings.Repeat("x", size-len(body))+`"`, 1)
		_, err := js.PublishMsg(t.Context(), &nats.Msg{Subject: "footfall.events", Header: header, Data: []byte(body)})
		require.NoError(t, err)
	}
	require.Eventually(t, func() bool { return r.Stats().Rejected == 3 }, patience, time.Millisecond)
	all := list(t, rejectionsOf(t, cfg))
	slices.SortFunc(all, func(a, b stream.Rejected) int { return len(b.Body) - len(a.Body) }) // they move at once
	for i, e := range all {
		assert.Equal(t, sizes[i], len(e.Body))
		assert.NoError(t, uuid.Validate(e.ID))
		assert.Equal(t, []any{[]int{0, 422, 422}[i], i == 2}, []any{e.Status, e.Message != ""}, "as much as fits")
	}

	api.Always(footfalltest.Accept())
	n, err := rejectionsOf(t, cfg).Retry(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 3, n)
	arrive(t, api, 3)
	var ids []string
	for _, e := range api.Events() {
		ids = append(ids, e.ID)
	}
	assert.ElementsMatch(t, []string{all[0].ID, all[1].ID, all[2].ID}, ids)
}

func TestTheLogNamesRejectedEventsThatAreTooLarge(t *testing.T) {
	t.Parallel()
	cfg, log := single(startServer(t).ClientURL()), &footfalltest.Log{}
	cfg.Logger = log.Logger()
	js, api := manage(t, cfg.URL), footfalltest.NewAPI(t)
	api.Always(footfalltest.Status(422))
	first := relay(t, api, cfg, stream.RelayConfig{})
	require.Eventually(t, func() bool { return first.Ready() == nil }, patience, time.Millisecond)
	require.NoError(t, first.stop())
	s, err := js.Stream(t.Context(), "FOOTFALL_REJECTED")
	require.NoError(t, err)
	small := s.CachedInfo().Config
	small.MaxMsgSize = 1000
	_, err = js.UpdateStream(t.Context(), small)
	require.NoError(t, err)
	tr := open(t, quick(&footfalltest.Log{}), cfg)
	require.NoError(t, tr.Track(t.Context(), "large", footfall.P("text", strings.Repeat("x", 1000))))
	publish(t, tr, 3)
	r := relay(t, api, cfg, stream.RelayConfig{})
	require.Eventually(t, func() bool { return r.Stats().Rejected == 3 }, patience, time.Millisecond)
	require.Eventually(t, func() bool { return strings.Contains(log.String(), "a rejected event is larger than NATS accepts") }, patience, time.Millisecond)
	require.Eventually(t, func() bool { return messages(t, js, "FOOTFALL") == 1 }, patience, time.Millisecond, "the others are acknowledged")
	m, err := js.Stream(t.Context(), "FOOTFALL")
	require.NoError(t, err)
	left, err := m.GetLastMsgForSubject(t.Context(), "footfall.events")
	require.NoError(t, err)
	assert.Contains(t, log.String(), "event="+left.Header.Get(jetstream.MsgIDHeader))
}
