//go:build ci

package faults

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
	"github.com/footfall-dev/footfall/spool"
)

// poisonedAPI returns an API that accepts all events except poison.
func poisonedAPI(t *testing.T) *footfalltest.API {
	api := footfalltest.NewAPI(t)
	good, bad := footfalltest.Accept(), footfalltest.Status(500)
	api.Always(func(a *footfalltest.API, w http.ResponseWriter, r *http.Request, e footfalltest.Event) {
		if e.Name == "poison" {
			bad(a, w, r, e)
			return
		}
		good(a, w, r, e)
	})
	return api
}

func openPoisoned(t *testing.T, api *footfalltest.API, dir string, change func(*footfall.Config, *spool.Config)) (*footfall.Tracker, *spool.Spool) {
	t.Helper()
	cfg := api.Config()
	cfg.Logger = slog.New(slog.DiscardHandler)
	cfg.BackoffMin, cfg.BackoffMax = time.Millisecond, 50*time.Millisecond
	sc := spool.Config{Dir: dir}
	change(&cfg, &sc)
	tracker, stored, err := spool.Open(cfg, sc)
	require.NoError(t, err)
	return tracker, stored
}

func accepted(t *testing.T, api *footfalltest.API, n int) {
	t.Helper()
	require.Eventually(t, func() bool { return len(api.Events()) == n }, patience, time.Millisecond)
}

func TestASpoolFullOfFailingEventsDropsTheOldest(t *testing.T) {
	t.Parallel()
	api := poisonedAPI(t)
	tracker, stored := openPoisoned(t, api, t.TempDir(), func(c *footfall.Config, s *spool.Config) {
		s.MaxBytes, c.MaxQueueEvents = 40<<10, 50
	})
	pad := footfall.P("pad", strings.Repeat("x", 300))
	for range 200 {
		require.NoError(t, within(patience, func(ctx context.Context) error {
			return tracker.TrackDurable(ctx, footfall.Event{Name: "poison", Props: []footfall.Prop{pad}})
		}))
	}
	for n := range 50 {
		require.Eventually(t, func() bool { // the queue may be full for a moment
			return tracker.Track(t.Context(), "good", pad) == nil
		}, patience, time.Millisecond)
		accepted(t, api, n+1)
	}
	assert.Positive(t, stored.Stats().Dropped)
	_ = within(time.Second, tracker.Close)
}

func TestEventsThatFailBeyondMemoryWaitInTheFile(t *testing.T) {
	t.Parallel()
	api := poisonedAPI(t)
	dir := t.TempDir()
	tracker, _ := openPoisoned(t, api, dir, func(c *footfall.Config, _ *spool.Config) { c.MaxQueueBytes, c.Limits.PropText = 64<<20, 30_000 })
	large := footfall.P("pad", strings.Repeat("x", 30_000))
	for range 600 { // 18 MB, where 16 MiB may wait in memory
		require.NoError(t, tracker.Track(t.Context(), "poison", large))
		require.NoError(t, tracker.Track(t.Context(), "good"))
	}
	accepted(t, api, 600)
	require.NoError(t, within(patience, func(ctx context.Context) error {
		return tracker.TrackDurable(ctx, footfall.Event{Name: "good"})
	}))
	accepted(t, api, 601)
	require.NoError(t, within(time.Second, tracker.Close), "all are in the file")
	api.Always(footfalltest.Accept())
	tracker, stored := openPoisoned(t, api, dir, func(*footfall.Config, *spool.Config) {})
	require.NoError(t, within(patience, tracker.Flush))
	assert.Equal(t, uint64(600), stored.Stats().Delivered)
	require.NoError(t, within(patience, tracker.Close))
}

func TestEventsThatFailExpire(t *testing.T) {
	t.Parallel()
	api := poisonedAPI(t)
	tracker, stored := openPoisoned(t, api, t.TempDir(), func(_ *footfall.Config, s *spool.Config) { s.MaxAge = 200 * time.Millisecond })
	require.NoError(t, tracker.Track(t.Context(), "poison"))
	require.Eventually(t, func() bool { return stored.Stats().Expired == 1 }, patience, time.Millisecond)
	require.NoError(t, within(patience, tracker.Close))
	assert.Equal(t, uint64(1), tracker.Stats().Dropped)
}

func TestAFailingEventInTheFileDoesNotUseUpTheTimeOfClose(t *testing.T) {
	t.Parallel()
	api := poisonedAPI(t)
	tracker, _ := openPoisoned(t, api, t.TempDir(), func(*footfall.Config, *spool.Config) {})
	for range 20 {
		require.NoError(t, tracker.Track(t.Context(), "good"))
	}
	require.NoError(t, tracker.Track(t.Context(), "poison"))
	began := time.Now()
	require.NoError(t, within(time.Hour, tracker.Close))
	assert.Less(t, time.Since(began), patience)
	assert.Equal(t, uint64(1), tracker.Stats().Stored)
}
