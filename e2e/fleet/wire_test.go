//go:build ci && linux

package fleet

import (
	"fmt"
	"strings"
	"testing"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
)

// wire is a proxy in front of a port.
type wire struct {
	proxy    *toxiproxy.Proxy
	upstream string
}

func newWire(t *testing.T, upstream string) *wire {
	t.Helper()
	w := &wire{upstream: upstream}
	w.up(t, "127.0.0.1:0")
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

// cut drops all bytes in both directions, and leaves the connections open.
func (w *wire) cut(t *testing.T) {
	t.Helper()
	for _, direction := range []string{"upstream", "downstream"} {
		_, err := w.proxy.Toxics.AddToxicJson(strings.NewReader(fmt.Sprintf(
			`{"name":%q,"type":"timeout","stream":%q,"attributes":{"timeout":0}}`, "cut "+direction, direction)))
		require.NoError(t, err)
	}
}

// heal replaces the proxy by one without toxics, which closes all connections. Removing a toxic
// from a connection that has just ended can block toxiproxy forever.
func (w *wire) heal(t *testing.T) {
	t.Helper()
	w.proxy.Stop()
	w.up(t, w.proxy.Listen)
}
