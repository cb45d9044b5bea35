//go:build ci

package peers

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func forEach(t *testing.T, f func(*testing.T, Peer)) {
	for _, peer := range All() {
		t.Run(peer.Name, func(t *testing.T) {
			t.Parallel()
			f(t, peer)
		})
	}
}

func serve(t *testing.T, peer Peer) *Server {
	server, err := NewServer(peer)
	require.NoError(t, err)
	t.Cleanup(server.Close)
	return server
}

func trackAll(t *testing.T, client Client, count int) {
	for n := 1; n <= count; n++ {
		require.NoError(t, client.Track(n))
	}
}

func each(count int) map[int]int {
	want := map[int]int{}
	for n := 1; n <= count; n++ {
		want[n] = 1
	}
	return want
}

func TestEveryEventArrivesOnceWithItsNumber(t *testing.T) {
	forEach(t, func(t *testing.T, peer Peer) {
		server := serve(t, peer)
		client, err := peer.Open(server.URL)
		require.NoError(t, err)
		trackAll(t, client, 50)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		require.NoError(t, client.Close(ctx))
		assert.Equal(t, each(50), server.Arrived())
		assert.Empty(t, server.Failures())
		if teller, ok := client.(interface{ Lost() int }); ok {
			assert.Zero(t, teller.Lost())
		}
	})
}

func TestFlushDeliversOrSaysThatItCannot(t *testing.T) {
	forEach(t, func(t *testing.T, peer Peer) {
		server := serve(t, peer)
		client, err := peer.Open(server.URL)
		require.NoError(t, err)
		trackAll(t, client, 50)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if err := client.Flush(ctx); !errors.Is(err, ErrNoFlush) {
			require.NoError(t, err)
			assert.Eventually(t, func() bool { return maps.Equal(each(50), server.Arrived()) }, 5*time.Second, time.Millisecond)
		}
		require.NoError(t, client.Close(ctx))
	})
}

func TestAnEventWithoutANumberIsDecodedAsZero(t *testing.T) {
	forEach(t, func(t *testing.T, peer Peer) {
		server := serve(t, peer)
		client, err := peer.Open(server.URL)
		require.NoError(t, err)
		require.NoError(t, client.Track(0))
		require.NoError(t, client.Close(t.Context()))
		assert.Equal(t, map[int]int{0: 1}, server.Arrived())
	})
}

func TestATransportTakesTheRequests(t *testing.T) {
	forEach(t, func(t *testing.T, peer Peer) {
		server := serve(t, peer)
		counted := &counting{}
		client, err := peer.OpenWith(Setup{URL: server.URL, Transport: redirect{server.URL, counted}, Queue: 1 << 12})
		require.NoError(t, err)
		trackAll(t, client, 50)
		require.NoError(t, client.Close(t.Context()))
		assert.Equal(t, each(50), server.Arrived())
		assert.NotZero(t, counted.requests(), "the requests went another way")
	})
}

// SDKs that can report losses report them in the experiments.
func TestEventsThatAnSDKGivesUpAreReported(t *testing.T) {
	for _, name := range []string{"segment", "posthog", "rudder", "amplitude", "libhoney"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			peer := named(t, name)
			server := serve(t, peer)
			server.Misbehave = func(w http.ResponseWriter, _ *http.Request, _ int) bool {
				w.WriteHeader(http.StatusBadRequest)
				_, _ = w.Write([]byte(`{"code":400,"error":"Invalid API key: key"}`)) // amplitude's format; otherwise it retries forever
				return true
			}
			client, err := peer.Open(server.URL)
			require.NoError(t, err)
			trackAll(t, client, 5)
			require.NoError(t, client.Close(t.Context()))
			assert.Eventually(t, func() bool { return client.(interface{ Lost() int }).Lost() == 5 }, 5*time.Second, time.Millisecond)
			assert.Empty(t, server.Arrived())
		})
	}
}

func TestTheServerNumbersTheRequestsForMisbehave(t *testing.T) {
	peer := named(t, "Footfall")
	server := serve(t, peer)
	var attempts []int
	server.Misbehave = func(w http.ResponseWriter, _ *http.Request, attempt int) bool {
		attempts = append(attempts, attempt)
		if attempt > 1 {
			return false
		}
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"error":"invalid","message":"no","status":400}`)
		return true
	}
	client, err := peer.Open(server.URL)
	require.NoError(t, err)
	for n := 1; n <= 2; n++ {
		require.NoError(t, client.Track(n))
		_ = client.Flush(t.Context())
	}
	_ = client.Close(t.Context())
	assert.Equal(t, []int{1, 2}, attempts)
	assert.Equal(t, []int{2}, slices.Collect(maps.Keys(server.Arrived())))
}
