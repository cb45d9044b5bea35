//go:build ci

package peers

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// redirect sends all requests to url, and counts them.
type redirect struct {
	url     string
	counted *counting
}

type counting struct{ n atomic.Int64 }

func (c *counting) requests() int { return int(c.n.Load()) }

func (d redirect) RoundTrip(r *http.Request) (*http.Response, error) {
	d.counted.n.Add(1)
	r = r.Clone(r.Context())
	r.URL.Scheme, r.URL.Host = "http", strings.TrimPrefix(d.url, "http://")
	return http.DefaultTransport.RoundTrip(r)
}

func named(t *testing.T, name string) Peer {
	t.Helper()
	for _, p := range All() {
		if p.Name == name {
			return p
		}
	}
	require.FailNow(t, "no peer of that name", name)
	return Peer{}
}
