package sqlite_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/sqlite"
	"github.com/footfall-dev/footfall/collector/store"
)

// BenchmarkForget deletes a site with a third of 300,000 events, each with its own path, while 50
// callers add an event every 20 ms. It reports the time until the events are removed, the time until
// their texts are, too, and how long callers waited.
func BenchmarkForget(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		file := filepath.Join(b.TempDir(), "events.db")
		s, err := sqlite.Open(b.Context(), sqlite.Config{File: file, Logger: silent})
		require.NoError(b, err)
		for site := range 3 {
			require.NoError(b, sqlite.AddAll(b.Context(), s, eventsWithPaths(fmt.Sprint("site ", site), 100_000)))
		}
		b.StartTimer()
		begin := time.Now()
		var removed time.Duration
		failed := make(chan error, 1)
		go func() {
			err := s.Forget(b.Context(), "site 1", time.Time{})
			removed = time.Since(begin)
			failed <- err
		}()
		reportWaits(b, addUntil(b, s, func() bool {
			return sqlite.Scalar[int](b, s, "SELECT count(*) FROM (SELECT 1 FROM text WHERE value LIKE '/site 1/%' LIMIT 1)") == 0
		}))
		require.NoError(b, <-failed)
		b.ReportMetric(removed.Seconds(), "s-events")
		b.ReportMetric(time.Since(begin).Seconds(), "s-texts")
		require.NoError(b, s.Close())
	}
}

func eventsWithPaths(site string, n int) (all []store.Event) {
	for i := range n {
		path := fmt.Sprint("/", site, "/", i)
		all = append(all, store.Event{
			Site: site, At: begin.Add(time.Duration(i) * 20 * time.Second), Name: fmt.Sprint("name ", i%10),
			URL: "https://site.example" + path + "?utm_campaign=c", Path: path, Campaign: fmt.Sprint("campaign ", i%100), Visitor: uint64(i/3 + 1),
		})
	}
	return all
}
