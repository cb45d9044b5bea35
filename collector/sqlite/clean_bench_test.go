package sqlite_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/sqlite"
)

// BenchmarkAddWhileKeysAreRemoved reports how long the slowest Add takes while two million old
// keys are removed, as after a shorter window, and for comparison in twenty seconds without old
// keys. 50 callers add an event with a key every 20 ms.
func BenchmarkAddWhileKeysAreRemoved(b *testing.B) {
	for _, keys := range []int{0, 2_000_000} {
		b.Run(fmt.Sprint("keys=", keys), func(b *testing.B) {
			s, err := sqlite.Open(b.Context(), sqlite.Config{File: filepath.Join(b.TempDir(), "events.db"), Logger: silent})
			require.NoError(b, err)
			defer func() { require.NoError(b, s.Close()) }()
			for b.Loop() {
				b.StopTimer()
				sqlite.PlantRandomKeys(b, s, keys, time.Now().AddDate(0, 0, -2))
				b.StartTimer()
				begin := time.Now()
				reportWaits(b, addUntil(b, s, func() bool {
					return time.Since(begin) > 20*time.Second &&
						sqlite.Scalar[int](b, s, "SELECT count(*) FROM (SELECT 1 FROM key WHERE at < unixepoch('now', '-1 day') * 1000 LIMIT 1)") == 0
				}))
			}
		})
	}
}

func reportWaits(b *testing.B, took []time.Duration) {
	slices.Sort(took)
	for name, d := range map[string]time.Duration{
		"longest-ms/Add": took[len(took)-1], "p99-ms/Add": took[len(took)*99/100], "median-ms/Add": took[len(took)/2],
	} {
		b.ReportMetric(float64(d)/float64(time.Millisecond), name)
	}
	b.ReportMetric(float64(len(took)), "Adds")
}

// addUntil adds events until done, and returns how long each took.
func addUntil(b *testing.B, s *sqlite.Store, done func() bool) (took []time.Duration) {
	var mu sync.Mutex
	var callers sync.WaitGroup
	end := make(chan struct{})
	begin := time.Now()
	for caller := range 50 {
		callers.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-end:
					return
				case <-time.After(20 * time.Millisecond):
				}
				e := numbered(caller)
				e.At, e.Key = time.Now(), fmt.Sprintf("%d of %d at %v", n, caller, begin)
				from := time.Now()
				_, err := s.Add(b.Context(), e)
				mu.Lock()
				took = append(took, time.Since(from))
				mu.Unlock()
				if err != nil {
					b.Error(err)
				}
			}
		})
	}
	for !done() {
		time.Sleep(100 * time.Millisecond)
	}
	close(end)
	callers.Wait()
	return took
}
