package collector

import (
	"fmt"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/sqlite"
	"github.com/footfall-dev/footfall/collector/store"
)

// BenchmarkOverviewUnderAttack measures the overview after strangers have sent, on each of four
// days, 300,000 distinct pages and sources in pageviews, and as many names and pages in events.
func BenchmarkOverviewUnderAttack(b *testing.B) {
	st, err := sqlite.Open(b.Context(), sqlite.Config{File: filepath.Join(b.TempDir(), "footfall.db")})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, st.Close()) })
	s := serve(b, Config{Store: withPassword(b, st)})
	for day := range 4 {
		s.flood(b, time.Now().AddDate(0, 0, day-3), 300_000)
	}
	cookies := s.signIn(b)
	time.Sleep(30 * time.Second) // the days are precomputed
	for _, span := range []string{"today", "30d"} {
		b.Run(span, func(b *testing.B) {
			for b.Loop() {
				require.Equal(b, http.StatusOK, s.do(b, "GET", "/sites/"+s.site.ID+"?range="+span, "", "Cookie", cookies).status)
			}
		})
	}
}

// flood stores events of strangers as the endpoint for browsers does.
func (s *service) flood(b *testing.B, at time.Time, n int) {
	b.Helper()
	var senders sync.WaitGroup
	for worker := range 64 {
		senders.Go(func() {
			for i := worker; i < n; i += 64 {
				text := fmt.Sprintf("x%d-%07d", at.Day(), i*7_654_321%10_000_000)
				e := store.Event{Site: s.site.ID, At: at, URL: pageURL, Path: "/" + text, Visitor: uint64(i%5000 + 1)}
				named := e
				named.Name = text
				e.Referrer, e.Source, e.Campaign = text+".example", text, text
				if f := s.keep(b.Context(), &s.site, e); f != nil {
					panic(f.message)
				}
				if f := s.keep(b.Context(), &s.site, named); f != nil {
					panic(f.message)
				}
			}
		})
	}
	senders.Wait()
}
