package e2e

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/collector"
	"github.com/footfall-dev/footfall/collector/sqlite"
	"github.com/footfall-dev/footfall/collector/store"
	"github.com/footfall-dev/footfall/collector/store/storetest"
)

// slowly is a store that takes one event at a time.
type slowly struct {
	store.Store
	turn chan struct{}
}

func (s *slowly) Add(ctx context.Context, e store.Event) (added bool, err error) {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	return s.Store.Add(ctx, e)
}

// watched counts answers that mean "not now".
type watched struct {
	http.ResponseWriter
	refused *atomic.Int64
}

func (w *watched) WriteHeader(status int) {
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		w.refused.Add(1)
	}
	w.ResponseWriter.WriteHeader(status)
}

// A tracker that is much faster than the limit of its key loses no event, and none counts
// twice.
func TestTrackerWaitsWhileTheCollectorLimitsItsKey(t *testing.T) {
	for name, cfg := range map[string]collector.Config{
		"the key's limit is used up (429)": {KeyRate: 15, KeyBurst: 20},
		"the store is slower (503)":        {MaxPending: 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st, err := sqlite.Open(t.Context(), sqlite.Config{File: filepath.Join(t.TempDir(), "footfall.db")})
			require.NoError(t, err)
			cfg.Store = &slowly{Store: st, turn: make(chan struct{}, 1)}
			cfg.Logger = slog.New(slog.DiscardHandler)
			c, err := collector.New(t.Context(), cfg)
			require.NoError(t, err)
			site, err := c.Account().AddSite(t.Context(), "", "shop.example.com")
			require.NoError(t, err)
			key, _, err := c.Account().IssueKey(t.Context(), "test")
			require.NoError(t, err)
			var refused atomic.Int64
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				c.ServeHTTP(&watched{w, &refused}, r)
			}))

			const events = 60
			tracker, err := footfall.New(footfall.Config{
				BaseURL: server.URL, APIKey: key, SiteID: site.ID,
				DefaultURL: "https://shop.example.com/", Logger: slog.New(slog.DiscardHandler),
			})
			require.NoError(t, err)
			for i := range events {
				require.NoError(t, tracker.Track(t.Context(), "event_"+strconv.Itoa(i)))
			}
			flushing, cancel := context.WithTimeout(t.Context(), 60*time.Second)
			defer cancel()
			require.NoError(t, tracker.Flush(flushing))
			stats := tracker.Stats()
			require.NoError(t, tracker.Close(t.Context()))
			assert.EqualValues(t, events, stats.Delivered)
			assert.Positive(t, refused.Load(), "else it was not held back")
			t.Log("refused:", refused.Load())
			server.Close()
			require.NoError(t, c.Close(t.Context()))
			now := time.Now()
			rows, err := storetest.Top(t.Context(), st, store.Query{Site: site.ID, From: now.Add(-time.Hour), To: now.Add(time.Hour)}, store.Names, 100)
			require.NoError(t, err)
			require.NoError(t, st.Close())
			assert.Len(t, rows, events)
			for _, r := range rows {
				assert.EqualValues(t, 1, r.Count, r.Value)
			}
		})
	}
}
