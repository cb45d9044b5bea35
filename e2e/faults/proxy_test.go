//go:build ci && linux

package faults

import (
	"strings"
	"testing"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
)

// wire is a proxy between a tracker and the API.
type wire struct {
	URL      string
	upstream string
	proxy    *toxiproxy.Proxy
}

// newWire starts a proxy for the API at url.
func newWire(t *testing.T, url string) *wire {
	t.Helper()
	w := &wire{upstream: strings.TrimPrefix(url, "http://")}
	w.up(t, "127.0.0.1:0")
	w.URL = "http://" + w.proxy.Listen
	t.Cleanup(func() { w.proxy.Stop() })
	return w
}

// up starts a proxy without toxics.
func (w *wire) up(t *testing.T, address string) {
	t.Helper()
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	w.proxy = toxiproxy.NewProxy(server, t.Name(), address, w.upstream)
	require.Eventually(t, func() bool { return w.proxy.Start() == nil }, patience, 10*time.Millisecond)
}

// fallIll adds a toxic in the form of toxiproxy's HTTP interface. An empty one stops the
// proxy.
func (w *wire) fallIll(t *testing.T, toxic string) {
	t.Helper()
	if toxic == "" {
		w.proxy.Stop()
		return
	}
	_, err := w.proxy.Toxics.AddToxicJson(strings.NewReader(toxic))
	require.NoError(t, err)
}

// heal replaces the proxy by one without toxics, which cuts all connections. Removing a
// toxic from a connection that has just ended can block toxiproxy forever.
func (w *wire) heal(t *testing.T) {
	t.Helper()
	w.proxy.Stop()
	w.up(t, w.proxy.Listen)
}
