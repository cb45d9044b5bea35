package footfall_test

import (
	"net/http"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
)

func TestHeadersNamesTheHeadersThatAnAdapterHasToCopy(t *testing.T) {
	prefetch := []string{"Sec-Purpose", "Purpose", "X-Moz"}
	forwarded := []string{"X-Forwarded-Proto", "X-Forwarded-Host"}
	for _, tc := range []struct {
		name   string
		config func(*footfall.Config)
		rule   footfall.Rule
		want   footfall.NeededHeaders
		ofPost bool // whether a POST needs them too
	}{
		{"a plain rule", nil, footfall.Rule{Route: "GET /"}, footfall.NeededHeaders{Observed: prefetch}, false},
		{"a rule that takes the referring page", nil, footfall.Rule{Route: "GET /", Page: footfall.PageReferer},
			footfall.NeededHeaders{Observed: append(prefetch, "Referer")}, true},
		{"trusted proxies", func(c *footfall.Config) { c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")} },
			footfall.Rule{Route: "GET /"}, footfall.NeededHeaders{Page: forwarded, Observed: prefetch}, false},
		{"a function that may look at any", func(c *footfall.Config) { c.Skip = func(*http.Request) bool { return false } },
			footfall.Rule{Route: "GET /"}, footfall.NeededHeaders{Observed: prefetch, All: true}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tracker := footfalltest.New(t, func(c *footfall.Config) {
				if tc.config != nil {
					tc.config(c)
				}
			})
			headers := tracker.Rules(tc.rule).NeededHeaders()
			assert.Equal(t, tc.want, headers)
			assert.True(t, headers.Needed(http.MethodGet))
			assert.Equal(t, tc.ofPost, headers.Needed(http.MethodPost))
		})
	}
}
