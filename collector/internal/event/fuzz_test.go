package event

import (
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/store"
)

// FuzzPage compares ParsePage with net/url, for URLs that net/url accepts. ParsePage refuses
// control characters everywhere; net/url accepts them in fragments.
func FuzzPage(f *testing.F) {
	for _, raw := range []string{"https://shop.example.com/a?utm_source=x", "HTTP://A.b:80/%ff?utm_source=%zz#x", `https://a\b`, "https://[::1]:443?x", "http://u@h/", "http:a", "https://ü/%2e", "http://a.b#\x00"} {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		if !utf8.ValidString(raw) {
			return // refused with the whole body
		}
		p, reason := ParsePage(raw)
		u, err := url.Parse(raw)
		if strings.ContainsFunc(raw, isControl) {
			require.NotEmpty(t, reason, raw)
		} else if err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.User == nil && len(raw) <= store.MaxURL {
			require.Empty(t, reason, raw)
		}
		path := p.countedPath()
		source, medium, campaign := p.campaign()
		require.True(t, strings.HasPrefix(path, "/"))
		for _, text := range []string{path, source, medium, campaign, referrerHost(raw, "shop.example.com")} {
			require.True(t, isText(text), "%q", text)
		}
		_ = IsOn("shop.example.com", p.Host)
		_ = IsOn(p.Host, "shop.example.com")
	})
}
