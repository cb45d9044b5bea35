package collector

import (
	"net/http/httptest"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("10.0.0.0/8")}

func TestForwardedForIsBelievedFromTrustedProxiesOnly(t *testing.T) {
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
		assert.Equal(t, row.want, clientAddr(r, loopback).String(), name)
	}
	r := httptest.NewRequest("GET", "/", nil)
	r.RemoteAddr = "@"
	assert.False(t, clientAddr(r, loopback).IsValid())
}

func TestLimiterRefillsAndSaysWhen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(0.5, 2)
		p := netip.MustParsePrefix("192.0.2.0/24")
		assert.Equal(t, []int{0, 0, 2, 2}, []int{l.take(p), l.take(p), l.take(p), l.take(p)})
		time.Sleep(time.Second)
		assert.Equal(t, 1, l.take(p))
		time.Sleep(time.Second)
		assert.Equal(t, []int{0, 2}, []int{l.take(p), l.take(p)})
		time.Sleep(time.Hour)
		l.prune()
		assert.Empty(t, l.buckets)
	})
}

func TestLimiterIsBoundedAndKeepsWhoIsLimited(t *testing.T) {
	t.Parallel()
	l := newLimiter(1e-9, 3)
	assert.Equal(t, maxBuckets, l.max)
	l.max = 8
	bad := netip.MustParsePrefix("192.0.2.0/24")
	for range 3 {
		require.Zero(t, l.take(bad))
	}
	for i := range 1000 {
		addr := netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)})
		require.Zero(t, l.take(netip.PrefixFrom(addr, 32)))
	}
	assert.Len(t, l.buckets, 8)
	assert.NotZero(t, l.take(bad))
}

func TestPrefixIsOneCustomersNetwork(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "192.0.2.0/24", prefixOf(netip.MustParseAddr("192.0.2.7")).String())
	assert.Equal(t, "2001:db8:1:2::/64", prefixOf(netip.MustParseAddr("2001:db8:1:2:3::7")).String())
	assert.Equal(t, prefixOf(netip.Addr{}), netip.Prefix{})
}
