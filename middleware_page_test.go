package footfall_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
)

func TestPageIsTheRequestedOneEvenIfTheHandlerChangesTheRequest(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*http.Request){
		"the path":        func(r *http.Request) { r.URL.Path, r.URL.RawPath = "/changed", "" },
		"the query":       func(r *http.Request) { r.URL.RawQuery = "ref=changed" },
		"the whole URL":   func(r *http.Request) { *r.URL = url.URL{Scheme: "ftp", Host: "changed", Path: "/changed"} },
		"another URL":     func(r *http.Request) { r.URL = &url.URL{Path: "/changed"} },
		"the host":        func(r *http.Request) { r.Host = "changed.example.com" },
		"forwarding":      func(r *http.Request) { r.Header.Set("X-Forwarded-Host", "changed.example.com") },
		"the request URI": func(r *http.Request) { r.RequestURI = "/changed" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mux := http.NewServeMux()
			mux.HandleFunc("GET /basket/{id}", func(_ http.ResponseWriter, r *http.Request) {
				change(r)
				assert.NoError(t, footfall.Track(r.Context(), "inside"))
			})
			site := setup{
				rules: []footfall.Rule{{Route: "GET /basket/{id}", Event: "by_rule"}},
				config: func(c *footfall.Config) {
					c.PublicURL = ""
					c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
				},
			}.open(t, mux)
			site.get(t, "/basket/a%2Fb?ref=mail&token=secret")
			want := site.URL + "/basket/a%2Fb?ref=mail"
			assert.Equal(t, []string{want, want}, urls(site.events()))
		})
	}
}

func TestPageOfTheRequest(t *testing.T) {
	t.Parallel()
	loopback := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	forwarded := []string{"X-Forwarded-Proto", "https", "X-Forwarded-Host", "evil.example, www.example.com"}
	for name, tc := range map[string]struct {
		config func(*footfall.Config)
		path   string
		header []string
		want   string // %s is the server's own URL
	}{
		"its own host and scheme": {func(*footfall.Config) {}, "/a", nil, "%s/a"},
		"listed query keys only":  {func(*footfall.Config) {}, "/a?utm_source=x&email=j@x.de&ref=y&source=z&refer=n", nil, "%s/a?utm_source=x&ref=y&source=z"},
		"keys of its own":         {func(c *footfall.Config) { c.QueryKeys = []string{"page"} }, "/a?utm_source=x&page=2", nil, "%s/a?page=2"},
		"no keys":                 {func(c *footfall.Config) { c.QueryKeys = []string{} }, "/a?utm_source=x", nil, "%s/a"},
		"personal data in a key":  {func(*footfall.Config) {}, "/a?ref=jane%40example.com&source=mail", nil, "%s/a?source=mail"},
		"a proxy not trusted":     {func(*footfall.Config) {}, "/a", forwarded, "%s/a"},
		"another proxy trusted":   {func(c *footfall.Config) { c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")} }, "/a", forwarded, "%s/a"},
		"a trusted proxy":         {func(c *footfall.Config) { c.TrustedProxies = loopback }, "/a", forwarded, "https://www.example.com/a"},
		"PublicURL before proxies": {func(c *footfall.Config) { c.TrustedProxies, c.PublicURL = loopback, "https://shop.example.com/eu/" },
			"/a", forwarded, "https://shop.example.com/eu/a"},
		"an encoded path": {func(*footfall.Config) {}, "/k%C3%B6ln/a%2Fb%20c", nil, "%s/k%C3%B6ln/a%2Fb%20c"},
		"a quote":         {func(*footfall.Config) {}, "/a%22b%5C?ref=%22", nil, "%s/a%22b%5C?ref=%22"},
		"hostile forwarding": {func(c *footfall.Config) { c.TrustedProxies = loopback }, "/a",
			[]string{"X-Forwarded-Proto", "javascript", "X-Forwarded-Host", `evil.com/"x`}, "%s/a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			site := setup{
				rules: []footfall.Rule{{Route: "GET /", Event: "by_rule"}},
				config: func(c *footfall.Config) {
					c.PublicURL = ""
					tc.config(c)
				},
			}.open(t, mounted("GET /", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				assert.NoError(t, footfall.Track(r.Context(), "inside"))
			})))
			site.get(t, tc.path, tc.header...)
			want := strings.Replace(tc.want, "%s", site.URL, 1)
			assert.Equal(t, []string{want, want}, urls(site.events()))
		})
	}
}

func TestPageOverTLSIsHTTPS(t *testing.T) {
	t.Parallel()
	site := setup{
		http2:  true,
		rules:  []footfall.Rule{{Route: "GET /a"}},
		config: func(c *footfall.Config) { c.PublicURL = "" },
	}.open(t, muxOf("GET /a"))
	require.True(t, strings.HasPrefix(site.URL, "https://"))
	site.get(t, "/a")
	assert.Equal(t, []string{site.URL + "/a"}, urls(site.events()))
}

func TestInvalidHostFallsBackToTheDefaultURL(t *testing.T) {
	t.Parallel()
	site := setup{
		rules:  []footfall.Rule{{Route: "GET /a"}},
		config: func(c *footfall.Config) { c.PublicURL = "" },
	}.open(t, muxOf("GET /a"))
	hosts := []string{
		"", ":80", "a'b", "a;b", "(a)", "a b", "a,b", "shop.example.com:port", "a:1:2",
		"[::1", "[::1]]", "[::1]x", "[::1]:x", "[]", "[1.2.3.4", "[::1%25a]", "[::1%a,b]",
	}
	for _, host := range hosts {
		site.rawly(t, "GET /a HTTP/1.1", "Host: "+host)
	}
	for i, e := range site.events() {
		assert.Equal(t, "https://example.com/", e.URL, "event %d", i)
	}
}

func TestHostOfTheRequestMayBeAnAddressWithAPort(t *testing.T) {
	t.Parallel()
	for _, host := range []string{"shop.example.com", "shop.example.com:8080", "localhost", "192.0.2.1:80", "[2001:db8::1]", "[2001:db8::1]:8080"} {
		t.Run(host, func(t *testing.T) {
			t.Parallel()
			site := setup{
				rules:  []footfall.Rule{{Route: "GET /a"}},
				config: func(c *footfall.Config) { c.PublicURL = "" },
			}.open(t, muxOf("GET /a"))
			site.rawly(t, "GET /a HTTP/1.1", "Host: "+host)
			assert.Equal(t, []string{"http://" + host + "/a"}, urls(site.events()))
		})
	}
}

func TestHostFromAHeaderCannotBreakOutOfTheURL(t *testing.T) {
	t.Parallel()
	const hostile = `[::1%25","name":"evil]`
	for name, header := range map[string][]string{
		"the Referer":           {"Referer", "http://" + hostile + "/"},
		"the Referer, escaped":  {"Referer", "http://[::1%25%22,%22name%22:%22evil]/"},
		"what the proxy passes": {"X-Forwarded-Host", strings.Replace(hostile, "%25", "%", 1)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			site := setup{
				rules: []footfall.Rule{{Route: "GET /a", Event: "viewed", Page: footfall.PageReferer}},
				config: func(c *footfall.Config) {
					c.PublicURL = ""
					c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
				},
			}.open(t, muxOf("GET /a"))
			site.get(t, "/a", header...)
			events := site.events()
			require.Len(t, events, 1, "an event whose JSON is broken is refused")
			assert.Equal(t, "viewed", events[0].Name)
			assert.Equal(t, site.URL+"/a", events[0].URL)
		})
	}
}

func TestNoVisitorAddressOrUserAgentIsSent(t *testing.T) {
	t.Parallel()
	api := footfalltest.NewAPI(t)
	tracker, err := footfall.New(api.Config())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, closeTracker(tracker)) })
	mux := http.NewServeMux()
	mux.HandleFunc("GET /products/{id}", func(_ http.ResponseWriter, r *http.Request) {
		assert.NoError(t, footfall.Track(r.Context(), "by_context"))
		assert.NoError(t, tracker.TrackRequest(r, "by_request"))
	})
	handler := tracker.Middleware(
		footfall.Rule{Route: "GET /products/{id}", PathProps: []string{"id"}, Page: footfall.PageReferer},
		footfall.Rule{Route: "/products/{id}", Event: "any"},
		footfall.Rule{Route: footfall.NoRoute},
	)(mux)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.RemoteAddr = "203.0.113.99:4711" // the visitor's address
		handler.ServeHTTP(w, r)
	}))
	defer server.Close()
	for _, path := range []string{"/products/203.0.113.99?ref=203.0.113.99&ip=203.0.113.99", "/nowhere"} {
		resp, err := server.Client().Do(hostileRequest(t, server.URL+path))
		require.NoError(t, err)
		resp.Body.Close()
	}
	server.Close()
	require.NoError(t, tracker.Flush(t.Context()))
	requests := api.Requests()
	require.Len(t, requests, 5)
	for _, r := range requests {
		// The application chose the path.
		sent := strings.ReplaceAll(fmt.Sprintf("%s %v", r.Body, r.Header), "/products/203.0.113.99", "")
		for _, secret := range []string{"203.0.113.99", "198.51.100", "2001:db8", "SecretAgent", "s3cret"} {
			assert.NotContains(t, sent, secret)
		}
	}
}

// hostileRequest has a visitor's address and user agent in every header that proxies and
// browsers use.
func hostileRequest(t *testing.T, target string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, target, nil)
	require.NoError(t, err)
	r.Host = "shop.example.com"
	for name, value := range map[string]string{
		"User-Agent":          "SecretAgent/7.0",
		"X-Forwarded-For":     "203.0.113.99, 198.51.100.1",
		"X-Real-Ip":           "203.0.113.99",
		"X-Forwarded-Host":    "203.0.113.99",
		"X-Forwarded-Proto":   "https",
		"Forwarded":           `for="[2001:db8::1]";host=203.0.113.99`,
		"Cf-Connecting-Ip":    "203.0.113.99",
		"True-Client-Ip":      "203.0.113.99",
		"Sec-Ch-Ua":           `"SecretAgent";v="7"`,
		"Cookie":              "session=s3cret",
		"Authorization":       "Bearer s3cret",
		"Idempotency-Key":     "s3cret",
		"Traceparent":         "00-s3cret",
		"Referer":             "https://www.example.org/?token=s3cret&ref=203.0.113.99",
		"X-Http-Method":       "SecretAgent",
		"Content-Type":        "text/s3cret",
		"Accept-Language":     "s3cret",
		"X-Forwarded-Port":    "203.0.113.99",
		"X-Original-Url":      "/s3cret",
		"X-Client-Ip":         "2001:db8::1",
		"X-Cluster-Client-Ip": "198.51.100.1",
	} {
		r.Header.Set(name, value)
	}
	return r
}

func TestConcurrentClientsNeverGetEachOthersData(t *testing.T) {
	t.Parallel()
	const clients, visits = 64, 15
	mux := http.NewServeMux()
	mux.HandleFunc("POST /users/{id}/buy", func(w http.ResponseWriter, r *http.Request) {
		id := r.PathValue("id")
		assert.NoError(t, footfall.Track(r.Context(), "by_context", footfall.P("id", id)))
		_, _ = fmt.Fprint(w, id)
	})
	site := setup{
		rules:  []footfall.Rule{{Route: "POST /users/{id}/buy", Event: "by_rule", PathProps: []string{"id"}}},
		config: func(c *footfall.Config) { c.PublicURL = "" },
	}.open(t, mux)
	site.Client().Transport.(*http.Transport).MaxIdleConnsPerHost = clients
	var wg sync.WaitGroup
	for client := range clients {
		wg.Go(func() {
			for visit := range visits {
				id := fmt.Sprintf("%c%d-%d", 'a'+rune(client%26), client, visit)
				_, body := site.do(t, "POST", "/users/"+id+"/buy?ref="+id)
				assert.Equal(t, id, body)
			}
		})
	}
	wg.Wait()
	seen := make(map[string]int)
	for _, e := range site.events() {
		id := e.Props["id"].(string)
		assert.Equal(t, site.URL+"/users/"+id+"/buy?ref="+id, e.URL)
		seen[e.Name+id]++
	}
	assert.Len(t, seen, 2*clients*visits)
	for event, n := range seen {
		assert.Equal(t, 1, n, event)
	}
}
