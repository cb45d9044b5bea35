package footfall_test

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
)

// BenchmarkGoodputBesidePoison measures how much events that always fail delay the others. It
// compares runs with and without them, at 1,000 good events a second and as fast as possible.
// One event in ten fails, and the API takes 5 ms.
func BenchmarkGoodputBesidePoison(b *testing.B) {
	for _, load := range []struct {
		name string
		good int
		pace time.Duration
	}{
		{"50000 at 1000 a second", 50_000, time.Millisecond},
		{"10000 at once", 10_000, 0},
	} {
		b.Run(load.name, func(b *testing.B) {
			var without, with time.Duration
			for range b.N {
				without += goodput(b, 202, load.good, 0, load.pace)
				with += goodput(b, 500, load.good, load.good/10, load.pace)
			}
			b.ReportMetric(float64(load.good*b.N)/with.Seconds(), "events/s")
			b.ReportMetric(without.Seconds()/with.Seconds(), "of-without")
		})
	}
}

// goodput returns the time until all good events are delivered.
func goodput(b *testing.B, status, good, poison int, pace time.Duration) time.Duration {
	b.Helper()
	var accepted atomic.Int64
	all := make(chan struct{})
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		time.Sleep(5 * time.Millisecond)
		if bytes.Contains(body, []byte("poison")) {
			w.WriteHeader(status)
			return
		}
		if accepted.Add(1) == int64(good) {
			close(all)
		}
		w.WriteHeader(http.StatusAccepted)
	}))
	defer api.Close()
	cfg := footfall.Config{BaseURL: api.URL, APIKey: testKey, SiteID: "s", DefaultURL: "https://example.com/"}
	quiet(&cfg)
	tracker, err := footfall.New(cfg)
	require.NoError(b, err)
	defer func() {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		_ = tracker.Close(ended)
	}()
	began := time.Now()
	for i := range good {
		require.NoError(b, tracker.Track(b.Context(), "good"))
		if poison > 0 && i%(good/poison) == 0 {
			require.NoError(b, tracker.Track(b.Context(), "poison"))
		}
		time.Sleep(time.Until(began.Add(time.Duration(i) * pace)))
	}
	<-all
	return time.Since(began)
}
