package event

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/store"
)

func TestPagesAreCountedByUnescapedPath(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"https://a.example":               "/",
		"https://a.example/":              "/",
		"https://a.example?x=/y":          "/",
		"https://a.example#/y":            "/",
		"https://a.example/a/b/?c#d":      "/a/b/",
		"https://a.example/caf%C3%A9":     "/café",
		"https://a.example/café":          "/café",
		"https://a.example/a+b":           "/a+b",
		"https://a.example/100%":          "/100%",
		"https://a.example/%ff":           "/%ff",
		"https://a.example/%00":           "/%00",
		"https://a.example/%0a":           "/%0a",
		`https://a.example\b`:             "/b",
		"HTTPS://A.example/b":             "/b",
		"http://[2001:db8::1]:8080/b":     "/b",
		"https://bücher.example/b":        "/b",
		"https://a.example:/b":            "/b",
		"https://a.example/" + "%2e%2e/b": "/../b",
	} {
		p, reason := ParsePage(raw)
		assert.Empty(t, reason, raw)
		assert.Equal(t, want, p.countedPath(), raw)
	}
}

func TestCampaignIsTakenFromTheQuery(t *testing.T) {
	t.Parallel()
	for query, want := range map[string][3]string{
		"":                                      {},
		"a=b":                                   {},
		"utm_source=a&utm_medium=b":             {"a", "b", ""},
		"utm_source=&utm_source=b&utm_source=c": {"b", "", ""},
		"utm_campaign=sp%C3%A4t+summer&x":       {"", "", "spät summer"},
		"utm_campaign=%zz":                      {"", "", "%zz"},
		"utm_campaign=%00":                      {"", "", "%00"},
		"UTM_SOURCE=a":                          {},
		"ref=a":                                 {"a", "", ""},
		"ref=a&source=b":                        {"b", "", ""},
		"ref=a&source=b&utm_source=c":           {"c", "", ""},
		"ref=a&utm_source=&source=+":            {"a", "", ""},
		"xref=a&sources=b&resource=c":           {},
	} {
		p, _ := ParsePage("https://a.example/?" + query)
		source, medium, campaign := p.campaign()
		assert.Equal(t, want, [3]string{source, medium, campaign}, query)
	}
}

func TestReferrerIsAForeignHost(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"":                                    "",
		"https://www.Search.example/?q=x":     "search.example",
		"http://search.example:80":            "search.example",
		"http://search.example:8080/":         "search.example:8080",
		"https://shop.example.com/basket":     "",
		"https://www.shop.example.com":        "",
		"https://blog.shop.example.com/":      "",
		"https://example.com/":                "example.com",
		"https://notshop.example.com/":        "notshop.example.com",
		"android-app://com.example":           "",
		"https://u:p@a.example/":              "",
		"https:///":                           "",
		"garbage":                             "",
		"https://" + strings.Repeat("a", 300): "",
	} {
		assert.Equal(t, want, referrerHost(raw, "shop.example.com"), raw)
	}
}

func TestHostIsOnADomain(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		domain, host string
		want         bool
	}{
		{"a.example", "a.example", true},
		{"a.example", "a.example:8080", true},
		{"a.example", "www.a.example", true},
		{"www.a.example", "a.example", true},
		{"a.example", "b.a.example", true},
		{"a.example", "ba.example", false},
		{"a.example", "example", false},
		{"a.example", "", false},
		{"a.example:8080", "a.example:8080", true},
		{"a.example:8080", "a.example", false},
		{"a.example:8080", "a.example:80801", false},
		{"localhost", "localhost:3000", true},
		{"127.0.0.1:8080", "127.0.0.1:8080", true},
		{"[::1]", "[::1]:8080", true},
		{"[::1]:80", "[::1]:8080", false},
	} {
		assert.Equal(t, row.want, IsOn(row.domain, row.host), "%+v", row)
	}
}

func TestGuardedURLIsWithinTheLimitAndStaysTheSame(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"https://shop.example.com":                     "https://shop.example.com",
		"https://shop.example.com?a=1#b":               "https://shop.example.com",
		"HTTPS://Shop.example.com:443/a?ref=x#/b?c=1":  "HTTPS://Shop.example.com:443/a?ref=x",
		`https://shop.example.com\a@example.com?ref=x`: "https://shop.example.com/%5Bredacted%5D?ref=x",
	} {
		d := Draft{URL: raw}
		require.Empty(t, d.checkURL(raw))
		d.Guard()
		assert.Equal(t, want, d.URL)
	}
	d := Draft{URL: "https://shop.example.com/" + strings.Repeat("a@b.co/", 280) + "?ref=x"}
	require.Empty(t, d.checkURL(d.URL))
	d.Guard()
	assert.LessOrEqual(t, len(d.URL), store.MaxURL)
	assert.True(t, strings.HasSuffix(d.URL, "/%5Bredacted%5D/"), d.URL)
	again, reason := ParsePage(d.URL)
	assert.Empty(t, reason)
	assert.Equal(t, again.Path, d.Page.Path)
}
