package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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
// is on disk.
func BenchmarkIngest(b *testing.B) {
	wrk, err := exec.LookPath("wrk")
	if err != nil {
		b.Skip("this benchmark needs wrk: on Debian, apt-get install wrk")
	}
	st, site, url, key := collectorForLoad(b)
	for range b.N {
		script := filepath.Join(b.TempDir(), "load.lua")
		text := strings.NewReplacer("KEY", key, "SITE", site, "RUN", time.Now().Format(time.RFC3339Nano)).Replace(load)
		require.NoError(b, os.WriteFile(script, []byte(text), 0o600))
		before := stored(b, st, site)
		began := time.Now()
		out, err := exec.CommandContext(b.Context(), wrk, "-t1", "-c128", "-d8s", "--latency", "-s", script, url).CombinedOutput()
		require.NoError(b, err, string(out))
		require.NotContains(b, string(out), "Non-2xx", string(out))
		b.ReportMetric(float64(stored(b, st, site)-before)/time.Since(began).Seconds(), "events/s")
		b.Logf("%s", out)
	}
}

func collectorForLoad(b *testing.B) (st store.Store, site, url, key string) {
	b.Helper()
	s := startService(b, nil)
	registered := addSite(b, s.account, "", "shop.example.com")
	key, _, err := s.account.IssueKey(b.Context(), "load")
	require.NoError(b, err)
	return s.store, registered.ID, s.url, key
}

func stored(b *testing.B, st store.Store, site string) int64 {
	b.Helper()
	totals, err := storetest.Totals(b.Context(), st, store.Query{Site: site, From: time.Now().Add(-time.Hour), To: time.Now().Add(time.Hour)})
	require.NoError(b, err)
	return totals.Events
}
