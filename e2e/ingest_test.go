package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/account"
	"github.com/footfall-dev/footfall/collector/store"
	"github.com/footfall-dev/footfall/collector/store/storetest"
)

// load is the script for wrk. It sends a shop's events, each with a different Idempotency-Key.
const load = `
local n = 0
wrk.method = "POST"
wrk.headers["Authorization"] = "Bearer KEY"
wrk.headers["Content-Type"] = "application/json"
function request()
  n = n + 1
  wrk.headers["Idempotency-Key"] = "RUN-" .. n
  return wrk.format(nil, "/v1/events", nil, '{"site_id":"SITE","name":"checkout_completed","url":"https://shop.example.com/products/' ..
    (n % 200) .. '","props":{"plan":"pro","amount":' .. (n % 9000) .. ',"currency":"EUR"}}')
end
`

// BenchmarkIngest posts events with wrk, which shares the cores with the collector, and
// reports the number of events stored per second. The collector answers 202 when an event
// is on disk. It does so alone, and while 64 clients of the stats API ask for figures that no roll-up has, as fast as they get answers.
func BenchmarkIngest(b *testing.B) {
	wrk, err := exec.LookPath("wrk")
	if err != nil {
		b.Skip("this benchmark needs wrk: on Debian, apt-get install wrk")
	}
	c := collectorForLoad(b)
	b.Run("alone", func(b *testing.B) { c.load(b, wrk) })
	b.Run("beside 64 queries", func(b *testing.B) {
		ctx, end := context.WithCancel(b.Context())
		var clients sync.WaitGroup
		var answers [600]atomic.Int64 // by status
		for range 64 {
			clients.Go(func() { c.query(ctx, &answers) })
		}
		c.load(b, wrk)
		end()
		clients.Wait()
		for status := range answers {
			if n := answers[status].Load(); n > 0 {
				b.ReportMetric(float64(n), fmt.Sprintf("answers-%d", status))
			}
		}
	})
}

// load posts events for eight seconds.
func (c *loaded) load(b *testing.B, wrk string) {
	for range b.N {
		script := filepath.Join(b.TempDir(), "load.lua")
		text := strings.NewReplacer("KEY", c.key, "SITE", c.site, "RUN", time.Now().Format(time.RFC3339Nano)).Replace(load)
		require.NoError(b, os.WriteFile(script, []byte(text), 0o600))
		before := stored(b, c.store, c.site)
		began := time.Now()
		out, err := exec.CommandContext(b.Context(), wrk, "-t1", "-c128", "-d8s", "--latency", "-s", script, c.url).CombinedOutput()
		require.NoError(b, err, string(out))
		require.NotContains(b, string(out), "Non-2xx", string(out))
		b.ReportMetric(float64(stored(b, c.store, c.site)-before)/time.Since(began).Seconds(), "events/s")
		b.Logf("%s", out)
	}
}

// query asks for figures until ctx ends.
func (c *loaded) query(ctx context.Context, answers *[600]atomic.Int64) {
	body := `{"site_id":"` + c.site + `","metrics":["events"],"date_range":"30d","dimensions":["event:page"],"filters":[["contains","event:props:plan",["r"]],["contains","event:page",["products"]]]}`
	for ctx.Err() == nil {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+"/stats/v1/query", strings.NewReader(body))
		if err != nil {
			return
		}
		r.Header.Set("Authorization", "Bearer "+c.statsKey)
		r.Header.Set("Content-Type", "application/json")
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			continue // ctx has ended
		}
		_ = response.Body.Close()
		answers[response.StatusCode].Add(1)
	}
}

// loaded is a service with a site and its keys.
type loaded struct {
	store         store.Store
	site, url     string
	key, statsKey string
}

func collectorForLoad(b *testing.B) *loaded {
	b.Helper()
	s := startService(b, nil)
	registered := addSite(b, s.account, "", "shop.example.com")
	key, _, err := s.account.IssueKey(b.Context(), "load")
	require.NoError(b, err)
	statsKey, _, err := s.account.IssueKeyFor(b.Context(), account.ScopeStats, "figures")
	require.NoError(b, err)
	return &loaded{s.store, registered.ID, s.url, key, statsKey}
}

func stored(b *testing.B, st store.Store, site string) int64 {
	b.Helper()
	totals, err := storetest.Totals(b.Context(), st, store.Query{Site: site, From: time.Now().Add(-time.Hour), To: time.Now().Add(time.Hour)})
	require.NoError(b, err)
	return totals.Events
}
