package collector

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/internal/limit"
	"github.com/footfall-dev/footfall/collector/sqlite"
)

func TestEventIsInTheDashboardWithinASecond(t *testing.T) {
	t.Parallel()
	st, err := sqlite.Open(t.Context(), sqlite.Config{File: filepath.Join(t.TempDir(), "footfall.db")})
	require.NoError(t, err)
	t.Cleanup(func() { st.Close() }) // runs after the cleanup of the service
	s := serve(t, Config{Store: withPassword(t, st)})
	cookies := s.signIn(t)
	for i := range 5 {
		name := fmt.Sprintf("arrived_%d", i)
		require.Equal(t, 202, s.api(t, "POST", "/v1/events", s.event(name, pageURL, "{}")).status)
		acknowledged := time.Now()
		page := s.do(t, "GET", "/sites/"+s.site.ID, "", "Cookie", cookies)
		assert.Contains(t, page.body, name)
		assert.Less(t, time.Since(acknowledged), time.Second)
	}
}

func TestBrowserSideSetsNoCookieAndAsksForNone(t *testing.T) {
	t.Parallel()
	s := serve(t, Config{})
	for name, got := range map[string]answer{
		"script":    s.do(t, "GET", "/t.js", ""),
		"event":     s.browse(t, pageview),
		"refused":   s.browse(t, "{}"),
		"preflight": s.do(t, "OPTIONS", "/e", "", "Origin", "https://"+domain),
	} {
		assert.Empty(t, got.header.Values("Set-Cookie"), name)
		assert.NotContains(t, got.header.Get("Vary"), "Cookie", name)
	}
}

// TestRefusedRequestsDoNotGrowMemory sends requests that differ in everything that
// a client can choose, and checks that all tables stay bounded.
func TestRefusedRequestsDoNotGrowMemory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := prepare(t, Config{TrustedProxies: loopback})
		synctest.Wait() // until chores sleep: they use the tables, too
		for _, l := range []*limiter[netip.Prefix]{s.failures, s.browsers} {
			l.table = limit.NewTable[netip.Prefix](limit.PerSecond(1, 5), 16)
		}
		for i := range 2000 {
			for _, path := range []string{"/v1/events", "/e", "/t.js", "/v1/sites/" + fmt.Sprint(i), fmt.Sprint("/", i)} {
				r := httptest.NewRequest("POST", path, strings.NewReader(fmt.Sprintf(`{"s":"%d.example","site_id":"%d"}`, i, i)))
				r.RemoteAddr = "127.0.0.1:1"
				r.Header = http.Header{
					"X-Forwarded-For": {fmt.Sprintf("10.%d.%d.1", i>>8, i&255)}, "Authorization": {fmt.Sprint("Bearer ", i)},
					"Content-Type": {"application/json"}, "User-Agent": {firefox}, "Idempotency-Key": {fmt.Sprint(i)},
				}
				assert.NotEqual(t, 202, s.record(r).Code)
			}
		}
		assert.LessOrEqual(t, s.failures.table.Len(), 16)
		assert.LessOrEqual(t, s.browsers.table.Len(), 16)
		assert.Zero(t, s.keys.table.Len(), "wrong keys have no limit of their own")
		assert.Zero(t, s.pending.Load())
		tracked := 0
		s.activity.last.Range(func(any, any) bool { tracked++; return true })
		assert.Zero(t, tracked)
		assert.Empty(t, s.stored(t))
	})
}

// TestHostileTextIsTextInTheDashboard sends hostile text as a browser's event.
func TestHostileTextIsTextInTheDashboard(t *testing.T) {
	t.Parallel()
	const nasty = `<script>alert(1)</script>`
	s := serve(t, Config{Store: withPassword(t, nil)})
	require.Equal(t, 202, s.browse(t, `{"s":"shop.example.com","n":"`+nasty+`","u":"https://shop.example.com/`+nasty+`","p":{"`+nasty+`":"`+nasty+`"}}`).status)
	require.Equal(t, 202, s.browse(t, `{"s":"shop.example.com","u":"https://shop.example.com/`+nasty+`?utm_source=`+nasty+`"}`).status)
	cookies := s.signIn(t)
	for _, path := range []string{"", "/live", "/events?name=" + nasty} {
		page := s.do(t, "GET", "/sites/"+s.site.ID+path, "", "Cookie", cookies)
		assert.Contains(t, page.body, "alert(1)", path)
		assert.NotContains(t, page.body, "<script>alert", path)
		assert.Contains(t, page.header.Get("Content-Security-Policy"), "default-src 'none'", path)
	}
	assert.Len(t, s.stored(t), 2)
}
