//go:build soak

package test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/outbox"
)

// A million events pass through a table of PostgreSQL with autovacuum at its defaults: a worker looks once a minute. Each
// event leaves three versions of its row, with their index entries about a kilobyte. So the table may grow for two
// minutes, and not with the number of events.
func TestSoakAMillionEventsLeaveASmallTable(t *testing.T) {
	d := open(t, outbox.PostgreSQL, "pgx", ownServer(t, newPostgreSQL).create(t))
	d.migrate(t)
	var accepted atomic.Int64
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		accepted.Add(1)
		w.WriteHeader(http.StatusAccepted)
	}))
	defer api.Close()
	cfg := footfall.Config{BaseURL: api.URL, APIKey: "sk_test", SiteID: "shop", DefaultURL: "https://shop.example.com/", AllowHTTP: true}
	b := box(t, cfg, outbox.Config{DB: d.DB, Dialect: d.dialect})
	began, largest := time.Now(), 0
	for n := range 1000 {
		tx, err := d.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		for range 1000 {
			require.NoError(t, b.Track(t.Context(), tx, "order_paid", footfall.P("amount", 4999)))
		}
		require.NoError(t, tx.Commit())
		for int64(n+1)*1000-accepted.Load() > 20_000 { // the backlog of an API that keeps up
			time.Sleep(10 * time.Millisecond)
		}
		if n%20 == 0 {
			largest = max(largest, d.count(t, "SELECT pg_total_relation_size('footfall_outbox')"))
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	require.NoError(t, b.Flush(ctx))
	perSecond := 1_000_000 / time.Since(began).Seconds()
	last := d.count(t, "SELECT pg_total_relation_size('footfall_outbox')")
	t.Logf("table and indexes: at most %d MB, at the end %d MB, %.0f events/s", largest>>20, last>>20, perSecond)
	assert.Less(t, float64(largest), 1024*120*perSecond)
	assert.EqualValues(t, 1_000_000, accepted.Load())
}
