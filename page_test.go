package footfall

import (
	"crypto/tls"
	"encoding/json"
	"math"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/internal/chars"
	"github.com/footfall-dev/footfall/internal/pattern"
	"github.com/footfall-dev/footfall/internal/pii"
)

// pagerOf returns the pager of a tracker with cfg.
func pagerOf(cfg Config) *pager {
	cfg = cfg.withDefaults()
	return newPager(&cfg)
}

// requestTo returns a request over TLS, as a server receives it.
func requestTo(target string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, target, nil)
	r.Host, r.TLS = "shop.example.com", &tls.ConnectionState{}
	return r
}

func TestPageKeepsOnlyListedQueryKeys(t *testing.T) {
	t.Parallel()
	const base = "https://shop.example.com/p"
	rows := map[string]struct{ query, want string }{
		"none":                        {"", ""},
		"bare question mark":          {"?", ""},
		"defaults":                    {"?utm_source=a&utm_x=b&ref=c&source=d", "?utm_source=a&utm_x=b&ref=c&source=d"},
		"others removed":              {"?token=t&utm_source=a&email=e&q=x", "?utm_source=a"},
		"all removed":                 {"?token=t&session=s", ""},
		"order and repetition stay":   {"?ref=2&x=1&ref=1", "?ref=2&ref=1"},
		"no value":                    {"?ref&source=", "?ref&source="},
		"escapes stay":                {"?ref=a%20b+c%2F", "?ref=a%20b+c%2F"},
		"names are case-sensitive":    {"?REF=1&Utm_source=2", ""},
		"longer names are others":     {"?refresh=1&xref=2&source_id=3&utm=4", ""},
		"an escaped name is another":  {"?%72ef=1", ""},
		"prefix alone":                {"?utm_=1", "?utm_=1"},
		"semicolons do not separate":  {"?a=1;utm_source=2", ""},
		"what a URL can't hold as is": {"?ref=\"x\"&utm_a=<b>&source=ok", "?source=ok"},
		"empty pairs":                 {"?&&ref=1&&", "?ref=1"},
	}
	c := pagerOf(Config{})
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := requestTo("/p")
			r.URL.RawQuery = strings.TrimPrefix(row.query, "?")
			assert.Equal(t, base+row.want, c.page(r).String())
		})
	}
}

func TestPageQueryKeysAreConfigurable(t *testing.T) {
	t.Parallel()
	rows := map[string]struct {
		keys []string
		want string
	}{
		"nil is the default":        {nil, "?utm_source=a&ref=b"},
		"empty removes all":         {[]string{}, ""},
		"own list":                  {[]string{"q"}, "?q=c"},
		"own prefix":                {[]string{"u*", "q"}, "?utm_source=a&q=c"},
		"a star alone is every key": {[]string{"*"}, "?utm_source=a&ref=b&q=c"},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := pagerOf(Config{QueryKeys: row.keys})
			assert.Equal(t, "https://shop.example.com/p"+row.want, c.page(requestTo("/p?utm_source=a&ref=b&q=c")).String())
		})
	}
}

func TestPageKeepsItsOwnListOfQueryKeys(t *testing.T) {
	t.Parallel()
	cfg := Config{QueryKeys: []string{"q"}}
	c := pagerOf(cfg)
	cfg.QueryKeys[0] = "token"
	assert.Equal(t, "https://shop.example.com/?q=1", c.page(requestTo("/?q=1&token=2")).String())
}

func TestPageDropsAndCountsPersonalDataInTheQuery(t *testing.T) {
	t.Parallel()
	rows := map[string]struct {
		query string
		want  string
		count int
	}{
		"none":                 {"ref=news&utm_source=x", "?ref=news&utm_source=x", 0},
		"e-mail":               {"ref=joe@example.com&utm_source=x", "?utm_source=x", 1},
		"e-mail, escaped":      {"ref=joe%40example.com", "", 1},
		"IP address with zone": {"utm_a=fe80::1%25wlan&ref=x", "?ref=x", 1},
		"IP address":           {"utm_a=203.0.113.7&utm_b=2001%3Adb8%3A%3A1", "", 2},
		"card number":          {"source=4111+1111+1111+1111&ref=ok", "?ref=ok", 1},
		"token":                {"ref=Bearer%20abc", "", 1},
		"of a key not listed":  {"mail=joe@example.com", "", 0},
		"first one of several": {"ref=joe@example.com&ref=b&ref=c", "?ref=b&ref=c", 1},
		// Invalid escapes must not bypass the guard.
		"e-mail and a bad escape":          {"ref=joe@example.com%&source=x", "?source=x", 1},
		"e-mail, escaped and a bad escape": {"ref=joe%40example.com%zz&source=x", "?source=x", 1},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := pagerOf(Config{})
			r := requestTo("/")
			r.URL.RawQuery = row.query
			page := c.page(r)
			got, count, _ := page.append(nil, pii.New(false, nil), pii.Route{})
			assert.Equal(t, "https://shop.example.com/"+row.want, string(got))
			assert.Equal(t, row.count, count)
		})
	}
}

func TestPageKeepsPersonalDataWithAllowPII(t *testing.T) {
	t.Parallel()
	page := pagerOfDefault().page(requestTo("/?ref=joe@example.com"))
	got, count, _ := page.append(nil, pii.New(true, nil), pii.Route{})
	assert.Equal(t, "https://shop.example.com/?ref=joe@example.com", string(got))
	assert.Zero(t, count)
}

func pagerOfDefault() *pager {
	return pagerOf(Config{})
}

func TestPageKeepsTheEscapesOfThePath(t *testing.T) {
	t.Parallel()
	rows := map[string]struct{ target, want string }{
		"root":               {"/", "/"},
		"plain":              {"/a/b-c_d.e~f", "/a/b-c_d.e~f"},
		"two slashes":        {"//evil.example/x", "//evil.example/x"},
		"escaped slash":      {"/a%2Fb", "/a%2Fb"},
		"blank":              {"/a%20b", "/a%20b"},
		"not ASCII":          {"/stra%C3%9Fe", "/stra%C3%9Fe"},
		"not UTF-8":          {"/%FF%FE", "/%FF%FE"},
		"quote and backsl.":  {"/%22%5C", "/%22%5C"},
		"line break":         {"/%0d%0aX", "/%0d%0aX"},
		"escaped question":   {"/a%3Fb", "/a%3Fb"},
		"escaped percent":    {"/100%25", "/100%25"},
		"escaped fragment":   {"/a%23b", "/a%23b"},
		"brackets":           {"/a[1]", "/a%5B1%5D"},
		"escaped plus stays": {"/a%2Bb+c", "/a%2Bb+c"},
	}
	c := pagerOf(Config{})
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := requestTo("/")
			u, err := url.ParseRequestURI(row.target)
			require.NoError(t, err)
			r.URL = u
			assert.Equal(t, "https://shop.example.com"+row.want, c.page(r).String())
		})
	}
}

func TestPageOfATargetWithoutAPathIsTheRoot(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]string{"OPTIONS *": "*", "CONNECT": "", "relative": "a/b"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := requestTo("/")
			r.URL = &url.URL{Path: path}
			assert.Equal(t, "https://shop.example.com/", pagerOfDefault().page(r).String())
		})
	}
}

func TestPageSchemeComesFromTheConnection(t *testing.T) {
	t.Parallel()
	r := requestTo("/")
	assert.Equal(t, "https://shop.example.com/", pagerOfDefault().page(r).String())
	r.TLS = nil
	assert.Equal(t, "http://shop.example.com/", pagerOfDefault().page(r).String())
}

func TestPageOfAHostileHostHasNoHost(t *testing.T) {
	t.Parallel()
	for name, host := range map[string]string{
		"empty":                 "",
		"path":                  "evil.com/path",
		"query":                 "evil.com?x",
		"fragment":              "evil.com#x",
		"user":                  "user@evil.com",
		"password":              "user:pass@evil.com",
		"quote":                 `evil.com","name":"x`,
		"backslash":             `evil.com\`,
		"line break":            "evil.com\r\nX: y",
		"NUL":                   "evil.com\x00",
		"blank":                 "evil .com",
		"not ASCII":             "exämple.com",
		"not UTF-8":             "evil\xff.com",
		"escape":                "evil%2ecom",
		"angle brackets":        "<script>",
		"brackets of no IP":     "[evil.com]",
		"bracket left open":     "[::1",
		"bracket closed twice":  "[::1]]",
		"IPv4 in brackets":      "[1.2.3.4]",
		"text behind brackets":  "[::1]evil",
		"port only":             ":80",
		"colon only":            ":",
		"port of letters":       "evil.com:http",
		"two ports":             "evil.com:80:80",
		"IPv6 without brackets": "2001:db8::1",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := requestTo("/")
			r.Host = host
			page := pagerOfDefault().page(r)
			assert.Equal(t, "https://unknown.invalid/", page.String())
		})
	}
}

func TestPageTakesEveryHonestHost(t *testing.T) {
	t.Parallel()
	for _, host := range []string{
		"example.com", "example.com:8080", "localhost", "localhost:80", "my_host.internal",
		"127.0.0.1", "127.0.0.1:8080", "[::1]", "[::1]:8080", "xn--exmple-cua.com", "EXAMPLE.com",
	} {
		t.Run(host, func(t *testing.T) {
			t.Parallel()
			r := requestTo("/x")
			r.Host = host
			assert.Equal(t, "https://"+host+"/x", pagerOfDefault().page(r).String())
		})
	}
}

func TestPagePublicURLReplacesSchemeAndHost(t *testing.T) {
	t.Parallel()
	rows := map[string]struct{ public, want string }{
		"origin":            {"https://public.example", "https://public.example/a?ref=x"},
		"trailing slash":    {"https://public.example/", "https://public.example/a?ref=x"},
		"path before":       {"https://public.example/shop/", "https://public.example/shop/a?ref=x"},
		"port":              {"http://public.example:81", "http://public.example:81/a?ref=x"},
		"IPv6":              {"http://[::1]:81", "http://[::1]:81/a?ref=x"},
		"escaped path stay": {"https://public.example/a%2Fb", "https://public.example/a%2Fb/a?ref=x"},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := Config{PublicURL: row.public, TrustedProxies: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}}
			require.Empty(t, checkPublicURL(row.public))
			c := pagerOf(cfg)
			r := requestTo("/a?ref=x&token=y")
			r.Host = "evil.com/\"" // ignored
			r.Header.Set("X-Forwarded-Host", "forwarded.example")
			assert.Equal(t, row.want, c.page(r).String())
		})
	}
}

func TestPageTrustsForwardedHeadersOfTrustedProxiesOnly(t *testing.T) {
	t.Parallel()
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8"), netip.MustParsePrefix("fe80::/10")}
	rows := map[string]struct {
		proxies            []netip.Prefix
		peer, proto, host  string
		wantScheme, wanted string
	}{
		"no proxies":           {nil, "10.1.2.3:4", "https", "f.example", "http", "shop.example.com"},
		"proxy":                {proxies, "10.1.2.3:4", "https", "f.example", "https", "f.example"},
		"visitor":              {proxies, "203.0.113.7:4", "https", "f.example", "http", "shop.example.com"},
		"IPv6 proxy":           {proxies, "[fd00::1]:4", "https", "f.example", "https", "f.example"},
		"IPv6 visitor":         {proxies, "[2001:db8::1]:4", "https", "f.example", "http", "shop.example.com"},
		"IPv4 in IPv6":         {proxies, "[::ffff:10.1.2.3]:4", "https", "f.example", "https", "f.example"},
		"proxy with zone":      {proxies, "[fe80::1%eth0]:4", "https", "f.example", "https", "f.example"},
		"unix socket":          {proxies, "@", "https", "f.example", "http", "shop.example.com"},
		"no peer":              {proxies, "", "https", "f.example", "http", "shop.example.com"},
		"scheme only":          {proxies, "10.1.2.3:4", "https", "", "https", "shop.example.com"},
		"host only":            {proxies, "10.1.2.3:4", "", "f.example:81", "http", "f.example:81"},
		"last of a list":       {proxies, "10.1.2.3:4", "http, https", "evil.example, b.example", "https", "b.example"},
		"list without blanks":  {proxies, "10.1.2.3:4", "http,https", "evil.example,b.example:81", "https", "b.example:81"},
		"scheme that is none":  {proxies, "10.1.2.3:4", "javascript", "f.example", "http", "f.example"},
		"host that is hostile": {proxies, "10.1.2.3:4", "https", `e"/vil`, "https", "shop.example.com"},
		"host that is empty":   {proxies, "10.1.2.3:4", "https,", "b.example, ", "http", "shop.example.com"},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := pagerOf(Config{TrustedProxies: row.proxies})
			r := requestTo("/")
			r.TLS, r.RemoteAddr = nil, row.peer
			r.Header.Set("X-Forwarded-Proto", row.proto)
			r.Header.Set("X-Forwarded-Host", row.host)
			r.Header.Set("X-Forwarded-For", "198.51.100.1") // always ignored
			assert.Equal(t, row.wantScheme+"://"+row.wanted+"/", c.page(r).String())
		})
	}
}

func TestPageOfAReferer(t *testing.T) {
	t.Parallel()
	rows := map[string]struct{ referer, want string }{
		"none":             {"", ""},
		"page":             {"https://other.example/a%2Fb?utm_source=x&token=y#frag", "https://other.example/a%2Fb?utm_source=x"},
		"origin":           {"https://other.example", "https://other.example/"},
		"password removed": {"https://user:pass@other.example/x", "https://other.example/x"},
		"port":             {"http://other.example:81/", "http://other.example:81/"},
		"relative":         {"/a/b", ""},
		"javascript":       {"javascript:alert(1)", ""},
		"about":            {"about:blank", ""},
		"app":              {"android-app://com.example/", ""},
		"garbage":          {"https://exa mple/%zz", ""},
		"no host":          {"https:///x", ""},
		"hostile host":     {"https://e%22vil/x", ""},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := pagerOf(Config{PublicURL: "https://public.example"})
			page := c.referer(row.referer)
			assert.Equal(t, row.want, page.String())
			assert.Equal(t, row.want != "", page.usable())
		})
	}
}

func TestPageIsASnapshotOfTheRequest(t *testing.T) {
	t.Parallel()
	r := requestTo("/before?ref=x")
	page := pagerOfDefault().page(r)
	r.URL.Path, r.URL.RawQuery, r.Host = "/after", "", "after.example"
	assert.Equal(t, "https://shop.example.com/before?ref=x", page.String())
}

func TestPageOfAnExactURLIsSentAsGiven(t *testing.T) {
	t.Parallel()
	const given = "https://example.com/?token=x&mail=joe@example.com#frag"
	page := Page{url: given}
	assert.True(t, page.usable())
	assert.Equal(t, given, page.String())
}

func TestPageZeroIsNone(t *testing.T) {
	t.Parallel()
	var page Page
	assert.False(t, page.usable())
	assert.Empty(t, page.String())
}

// Not parallel: testing.AllocsPerRun counts the allocations of the whole process.
func TestPageOfAPlainRequestAllocatesNothing(t *testing.T) {
	c, r := pagerOf(Config{}), requestTo("/checkout?utm_source=x&token=y")
	buf := make([]byte, 0, 1024)
	var redacted int
	assert.Zero(t, testing.AllocsPerRun(1000, func() {
		page := c.page(r)
		_, redacted, _ = page.append(buf, pii.New(true, nil), pii.Route{})
	}))
	assert.Zero(t, redacted)
}

func TestPageTakesForwardedHeadersFromTheLastLine(t *testing.T) {
	t.Parallel()
	c := pagerOf(Config{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}})
	r := requestTo("/")
	r.TLS, r.RemoteAddr = nil, "10.1.2.3:4"
	r.Header["X-Forwarded-Proto"] = []string{"http", "https"}
	r.Header["X-Forwarded-Host"] = []string{"evil.example", "evil.example, b.example"}
	assert.Equal(t, "https://b.example/", c.page(r).String())
}

// The fast path for plain URLs must not accept a URL that net/url refuses.
func TestPlainURLsAreValidForNetURL(t *testing.T) {
	t.Parallel()
	for b := range 256 {
		for _, form := range []string{"https://example.com/a?", "https://example.com", "https://", "https://a"} {
			raw := form + string([]byte{byte(b)}) + "x"
			if !isPlainURL(raw) {
				continue
			}
			u, err := url.Parse(raw)
			require.NoError(t, err, "%q", raw)
			assert.Empty(t, checkUnusualURL(raw), "%q", raw)
			assert.NotEmpty(t, u.Hostname(), "%q", raw)
		}
	}
}

// For every route and path, the URL contains only characters of a URL, and its path is valid.
func FuzzPathsOfPagesAreURLText(f *testing.F) {
	for _, seed := range [][2]string{
		{"/user/reset/secretkey123", "GET /user/reset/{key}"}, {"/a//b/", "/{a}/{b...}"}, {"/%ff%fe", "/:x/*y"},
		{"/a@b.example", "{"}, {"/", "GET /{$}"}, {"/a/V1StGXR8Z5jdHi6BmyT0", "/a/{id:[a-z/]{2}}"}, {"/*", ":"},
		{"/\xff\x00\u00fc", "/{\xff\x00\u00fc}"}, {"*", "*"}, {"/%7Bkey%7D", "/{{key}}"}, {"/a%zz", "/{token"}, {"/%", "/%"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, path, route string) {
		page := Page{rules: &pager{}, host: "shop.example.com", path: path, rawPath: path}
		assertPathOfURL(t, string(pattern.AppendPath(nil, route)))
		for _, g := range []*pii.Guard{pii.New(false, nil), pii.New(false, []string{"id"}), pii.New(true, nil)} {
			text, _ := page.appendPath(nil, g, pii.Route{Pattern: route})
			assertPathOfURL(t, string(text))
		}
	})
}

func assertPathOfURL(t *testing.T, path string) {
	t.Helper()
	require.True(t, chars.IsURL(path), "%q", path)
	require.True(t, strings.HasPrefix(path, "/"), "%q", path)
	u, err := url.Parse("https://shop.example.com" + path)
	require.NoError(t, err)
	require.Equal(t, "shop.example.com", u.Host)
}

// The client chooses host, path and query. Every accepted page makes a URL that the encoder
// accepts as an explicit one.
func FuzzPageOfAnyRequestMakesAURL(f *testing.F) {
	f.Add("example.com", "/a b", "", "utm_source=x&token=y")
	f.Add("[::1]:80", "/a/b", "/a%2Fb", "ref=%zz&source=\"")
	f.Add("evil.com/\"", "*", "", "utm_=<>&&&utm_x=joe%40example.com")
	f.Add("a:80", "/\xff\x00", "/%ff%00", "utm_\xff=1")
	f.Add("a.b", "/[x]", "/[x]", "ref=a#b")
	f.Fuzz(func(t *testing.T, host, path, rawPath, query string) {
		page := Page{rules: pagerOf(Config{}), https: true, host: host, path: path, rawPath: rawPath, query: query}
		if !page.usable() {
			assert.Empty(t, page.String())
			return
		}
		text := page.String()
		require.Empty(t, checkUnusualURL(text), "%q", text)
		quoted, err := json.Marshal(text)
		require.NoError(t, err)
		e := newEncoder("s", "", math.MaxInt, noLimits, pii.New(true, nil))
		body, _, err := e.append(nil, &draft{name: "n", page: &page})
		require.NoError(t, err)
		var got struct{ URL json.RawMessage }
		require.NoError(t, json.Unmarshal(body, &got), "%q", body)
		var plain, marshalled string
		require.NoError(t, json.Unmarshal(got.URL, &plain))
		require.NoError(t, json.Unmarshal(quoted, &marshalled))
		assert.Equal(t, marshalled, plain)
	})
}
