package freeport

import (
	"net"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPortsAreFreeAndNoneOfConnections(t *testing.T) {
	t.Parallel()
	ports, err := Ports(50)
	require.NoError(t, err)
	slices.Sort(ports)
	assert.Len(t, slices.Compact(ports), 50)
	assert.Less(t, ports[49], 32768)
	for _, port := range ports {
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		require.NoError(t, err)
		require.NoError(t, l.Close())
	}
}
