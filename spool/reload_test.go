package spool_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/spool"
)

// A kind that fails for long fills memory with events that wait. Events of another kind, which did not fit, may not
// stay in the file when the API accepts them again.
func TestAKindThatFailsKeepsNoEventsOfAnotherInTheFile(t *testing.T) {
	t.Parallel()
	const events = 3000
	var up atomic.Bool
	var bad, away atomic.Int64
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		isAway := bytes.Contains(body, []byte(`"name":"away"`))
		switch {
		case bytes.Contains(body, []byte(`"name":"bad"`)):
			bad.Add(1)
			w.WriteHeader(http.StatusInternalServerError)
			return
		case isAway && !up.Load():
			w.WriteHeader(http.StatusInternalServerError)
			return
		case isAway:
			away.Add(1)
		}
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, `{"accepted":true}`)
	}))
	t.Cleanup(api.Close)
	s := open(t, t.TempDir(), nil, func(c *footfall.Config, _ *spool.Config) {
		c.BaseURL, c.APIKey, c.BackoffMax = api.URL, "test-key", time.Second
	})
	stored := func(name string) {
		for range events {
			require.NoError(t, s.Track(t.Context(), name))
		}
		require.NoError(t, s.Track(t.Context(), "good"))
		eventually(t, "taken from the file", func() bool { window, _ := s.spool.InMemory(); return s.Stats().Queued == 0 && window == 0 })
	}
	stored("bad")
	stored("away")
	up.Store(true)
	eventually(t, "delivered", func() bool { return away.Load() == events })
	require.Less(t, bad.Load(), int64(events), "its events wait")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, s.Close(ctx), "they are in the file")
}
