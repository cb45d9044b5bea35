package collector

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/store"
)

func TestPageviewOfABrowserIsStored(t *testing.T) {
	t.Parallel()
	s := serve(t, Config{})
	got := s.browse(t, `{"s":"shop.example.com","u":"https://shop.example.com/a?utm_source=x","r":"https://www.Search.example:443/?q=secret"}`)
	require.Equal(t, 202, got.status, got.body)
	assert.Empty(t, got.body)
	all := s.stored(t)
	require.Len(t, all, 1)
	e := all[0]
	assert.NotZero(t, e.Visitor)
	e.At, e.Visitor = time.Time{}, 0
	assert.Equal(t, store.Event{
		Site: s.site.ID, URL: "https://shop.example.com/a?utm_source=x", Path: "/a", Referrer: "search.example", Source: "x",
		Browser: "Firefox", Device: "Desktop",
	}, e)
}

// Events of servers keep the URL that they have: their senders have guarded it, or chosen it.
func TestSecretsInTheURLOfABrowserAreNotStored(t *testing.T) {
	t.Parallel()
	s := serve(t, Config{})
	const page = "https://Shop.example.com/reset/V1StGXR8Z5jdHi6BmyT0/jane@example.com?utm_source=mail&token=k3y#access_token=k3y"
	require.Equal(t, 202, s.browse(t, `{"s":"shop.example.com","u":"`+page+`"}`).status)
	require.Equal(t, 202, s.api(t, "POST", "/v1/events", s.event("mailed", page, `{}`)).status)
	for _, e := range s.stored(t) {
		assert.Equal(t, "mail", e.Source)
		if e.Name == "mailed" {
			assert.Equal(t, page, e.URL)
			continue
		}
		assert.Equal(t, "https://Shop.example.com/reset/%5Bredacted%5D/%5Bredacted%5D?utm_source=mail", e.URL)
		assert.Equal(t, "/reset/[redacted]/[redacted]", e.Path)
	}
}

func TestCustomEventOfABrowserIsStored(t *testing.T) {
	t.Parallel()
	s := serve(t, Config{})
	got := s.browse(t, `{"s":"SHOP.example.com","n":"signup","u":"https://www.shop.example.com/a","r":"https://shop.example.com/","p":{"plan":"pro","n":1.0}}`)
	require.Equal(t, 202, got.status, got.body)
	e := s.stored(t)[0]
	assert.Equal(t, "signup", e.Name)
	assert.Empty(t, e.Referrer, "the site itself")
	assert.Equal(t, []store.Prop{{Key: "plan", Value: "pro"}, {Key: "n", Value: "1.0", Numeric: true}}, e.Props)
}

func TestBrowserEventsAreValidatedLikeEventsOfTheAPI(t *testing.T) {
	t.Parallel()
	s := serve(t, Config{})
	for name, row := range map[string]struct {
		body   string
		status int
		want   string
	}{
		"no site":      {`{"u":"https://shop.example.com/"}`, 400, `{"error":"validation_failed","message":"s: is missing","status":400}`},
		"unknown site": {`{"s":"other.example","u":"https://other.example/"}`, 404, `{"error":"not_found","message":"there is no site with the domain \"other.example\"","status":404}`},
		"blank name":   {`{"s":"shop.example.com","n":" ","u":"https://shop.example.com/"}`, 400, `{"error":"validation_failed","message":"n: is empty","status":400}`},
		"other host":   {`{"s":"shop.example.com","u":"https://evilshop.example.com.example/"}`, 400, `{"error":"validation_failed","message":"u: is not on \"shop.example.com\"","status":400}`},
		"prop":         {`{"s":"shop.example.com","u":"https://shop.example.com/","p":{"a":{}}}`, 400, `{"error":"validation_failed","message":"p[\"a\"]: must be a string or a number","status":400}`},
		"unknown":      {`{"s":"shop.example.com","u":"https://shop.example.com/","v":1}`, 400, `{"error":"validation_failed","message":"body: has an unknown field: \"v\"","status":400}`},
		"too large":    {`{"s":"` + strings.Repeat("x", store.MaxBody) + `"}`, 413, `{"error":"payload_too_large","message":"body: larger than 32768 bytes","status":413}`},
	} {
		got := s.browse(t, row.body)
		assert.Equal(t, row.status, got.status, name)
		assert.Equal(t, row.want, got.body, name)
	}
	got := s.do(t, "GET", "/e", "")
	assert.Equal(t, 405, got.status)
	assert.Equal(t, "POST, OPTIONS", got.header.Get("Allow"))
	assert.Equal(t, 415, s.browse(t, pageview, "Content-Type", "image/png").status)
	assert.Empty(t, s.stored(t))
}

func TestOnlyPagesOfTheDomainAreAllowedByCORS(t *testing.T) {
	t.Parallel()
	s := serve(t, Config{})
	for origin, allowed := range map[string]bool{
		"https://shop.example.com":          true,
		"https://www.shop.example.com":      true,
		"https://de.shop.example.com":       true,
		"http://shop.example.com:8080":      true,
		"https://example.com":               false,
		"https://evilshop.example.com":      false,
		"https://shop.example.com.evil.net": false,
		"https://shop.example.com@evil.net": false,
		"null":                              false,
		"file://":                           false,
	} {
		got := s.browse(t, pageview, "Origin", origin)
		ahead := s.do(t, "OPTIONS", "/e", "", "Origin", origin, "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "content-type")
		assert.Equal(t, "Origin", got.header.Get("Vary"))
		assert.Equal(t, 204, ahead.status)
		want := ""
		if allowed {
			want = origin
			assert.Equal(t, 202, got.status, origin)
			assert.Equal(t, "POST", ahead.header.Get("Access-Control-Allow-Methods"))
			assert.Equal(t, "Content-Type", ahead.header.Get("Access-Control-Allow-Headers"))
		} else {
			assert.Equal(t, 403, got.status, origin)
			assert.Contains(t, got.body, `{"error":"forbidden","message":"pages of `)
		}
		assert.Equal(t, want, got.header.Get("Access-Control-Allow-Origin"), origin)
		assert.Equal(t, want, ahead.header.Get("Access-Control-Allow-Origin"), origin)
	}
	api := s.api(t, "GET", "/v1/sites", "", "Origin", "https://shop.example.com")
	assert.Empty(t, api.header.Get("Access-Control-Allow-Origin"), "keys are not for browsers")
}

func TestBotsAndPrefetchesAreIgnoredHere(t *testing.T) {
	t.Parallel()
	s := serve(t, Config{})
	ignored := map[string][]string{
		"no user agent": {"User-Agent", ""},
		"library":       {"User-Agent", "Go-http-client/1.1"},
		"crawler":       {"User-Agent", "Mozilla/5.0 (compatible; Somebot/2.1; +http://some.example/bot.html)"},
		"headless":      {"User-Agent", "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/140.0.0.0 Safari/537.36"},
		"prefetch":      {"Sec-Purpose", "prefetch;prerender"},
		"old prefetch":  {"Purpose", "prefetch"},
	}
	for name, header := range ignored {
		got := s.browse(t, pageview, header...)
		assert.Equal(t, 202, got.status, name)
		assert.Empty(t, got.body, name)
		assert.Equal(t, "https://"+domain, got.header.Get("Access-Control-Allow-Origin"), "like any other answer")
	}
	assert.Empty(t, s.stored(t))
	assert.Equal(t, `{"status":"ok","ignored":6}`, s.do(t, "GET", "/healthz", "").body)

	for name, header := range ignored {
		got := s.api(t, "POST", "/v1/events", s.event("x", pageURL, "{}"), header...)
		assert.Equal(t, 202, got.status, name)
	}
	assert.Len(t, s.stored(t), len(ignored), "calls with a key are never taken for bots")
}

func TestOneNetworkIsLimitedAndOthersAreNot(t *testing.T) {
	t.Parallel()
	s := serve(t, Config{BrowserRate: 0.1, BrowserBurst: 3, TrustedProxies: loopback})
	send := func(from string) answer { return s.browse(t, pageview, "X-Forwarded-For", from) }
	for _, from := range []string{"192.0.2.1", "192.0.2.77", "192.0.2.255"} {
		assert.Equal(t, 202, send(from).status)
	}
	got := send("192.0.2.3")
	assert.Equal(t, http.StatusTooManyRequests, got.status)
	assert.Equal(t, `{"error":"rate_limited","message":"too many events from this network","status":429}`, got.body)
	assert.Regexp(t, `^(9|10)$`, got.header.Get("Retry-After"))
	assert.Equal(t, 202, send("192.0.3.1").status)
	assert.Equal(t, 202, s.api(t, "POST", "/v1/events", s.event("x", pageURL, "{}"), "X-Forwarded-For", "192.0.2.3").status)
}

func TestScriptIsCacheable(t *testing.T) {
	t.Parallel()
	s := serve(t, Config{})
	got := s.do(t, "GET", "/t.js", "")
	assert.Equal(t, string(script), got.body)
	assert.Equal(t, "text/javascript; charset=utf-8", got.header.Get("Content-Type"))
	assert.Equal(t, "public, max-age=3600", got.header.Get("Cache-Control"))
	assert.Equal(t, 304, s.do(t, "GET", "/t.js", "", "If-None-Match", got.header.Get("ETag")).status)
	assert.Equal(t, 405, s.do(t, "POST", "/t.js", "").status)
}
