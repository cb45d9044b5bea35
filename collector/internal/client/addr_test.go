package client

import (
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
)

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("10.0.0.0/8")}

func TestForwardedForIsTrustedFromTrustedProxiesOnly(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		remote string
		lines  []string
		want   string
	}{
		"direct":               {"192.0.2.1:5", nil, "192.0.2.1"},
		"claimed by a client":  {"192.0.2.1:5", []string{"198.51.100.1"}, "192.0.2.1"},
		"by a proxy":           {"127.0.0.1:5", []string{"198.51.100.1"}, "198.51.100.1"},
		"by two proxies":       {"127.0.0.1:5", []string{"198.51.100.1, 10.1.2.3"}, "198.51.100.1"},
		"forged, then a proxy": {"127.0.0.1:5", []string{"203.0.113.9, 198.51.100.1"}, "198.51.100.1"},
		"several lines":        {"127.0.0.1:5", []string{"203.0.113.9", "198.51.100.1", "10.1.2.3"}, "198.51.100.1"},
		"with a port":          {"127.0.0.1:5", []string{"198.51.100.1:99"}, "198.51.100.1"},
		"IPv6":                 {"[::ffff:127.0.0.1]:5", []string{"[2001:db8::1]:99"}, "2001:db8::1"},
		"IPv6 bare":            {"127.0.0.1:5", []string{"2001:db8::1"}, "2001:db8::1"},
		"garbage":              {"127.0.0.1:5", []string{"198.51.100.1, unknown"}, "127.0.0.1"},
		"nothing but proxies":  {"127.0.0.1:5", []string{"10.0.0.1"}, "10.0.0.1"},
		"no header":            {"127.0.0.1:5", nil, "127.0.0.1"},
		"zone":                 {"[fe80::1%eth0]:5", nil, "fe80::1"},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = row.remote
		r.Header["X-Forwarded-For"] = row.lines
		assert.Equal(t, row.want, Addr(r, loopback).String(), name)
	}
	r := httptest.NewRequest("GET", "/", nil)
	r.RemoteAddr = "@"
	assert.False(t, Addr(r, loopback).IsValid())
}
