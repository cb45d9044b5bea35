package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
	"github.com/footfall-dev/footfall/outbox"
)

func TestAnOrderThatIsPlacedTwiceIsOneEvent(t *testing.T) {
	t.Parallel()
	api, ctx := footfalltest.NewAPI(t), t.Context()
	file := filepath.Join(t.TempDir(), "shop.db")
	for range 2 { // the second time the file is there
		db, err := open(ctx, file)
		require.NoError(t, err)
		cfg := api.Config()
		tracker, err := footfall.New(cfg)
		require.NoError(t, err)
		box, err := outbox.Open(cfg, outbox.Config{DB: db, Dialect: outbox.SQLite})
		require.NoError(t, err)
		shop := handler(db, box, tracker)
		for _, id := range []string{"1", "2", "1"} {
			shop.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "https://shop.example.com/orders/"+id, nil))
		}
		flushing, cancel := context.WithTimeout(ctx, time.Minute)
		require.NoError(t, box.Flush(flushing))
		cancel()
		require.NoError(t, box.Close(ctx))
		require.NoError(t, tracker.Close(ctx))
		require.NoError(t, db.Close())
	}
	var orders []any
	for _, e := range api.Events() {
		assert.Equal(t, "order_placed", e.Name)
		assert.Contains(t, e.URL, "https://shop.example.com/orders/")
		orders = append(orders, e.Props["order"])
	}
	assert.ElementsMatch(t, []any{"1", "2"}, orders)
}
