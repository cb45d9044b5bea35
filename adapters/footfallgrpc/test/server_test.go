package footfallgrpc_test

import (
	"context"
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/footfallgrpc"
)

func TestServerStopsAlthoughItHasNotBegunToServe(t *testing.T) {
	t.Parallel()
	var tracker *footfall.Tracker
	for range 50 {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		stop()
		require.NoError(t, footfallgrpc.Run(ctx, tracker, grpc.NewServer(), listener))
		_, err = listener.Accept()
		assert.ErrorIs(t, err, net.ErrClosed)
	}
}

func TestServerSaysWhyItCannotServe(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	var tracker *footfall.Tracker
	assert.ErrorIs(t, footfallgrpc.Run(t.Context(), tracker, grpc.NewServer(), listener), net.ErrClosed)
}
