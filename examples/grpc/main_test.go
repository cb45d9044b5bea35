package main

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/examples/internal/exampletest"
)

func TestTheServicePassesTheExampleTests(t *testing.T) {
	t.Parallel()
	exampletest.Run(t, exampletest.Program{
		Run: func(ctx context.Context, address string, rules []footfall.Rule, out io.Writer) error {
			return run(ctx, address, false, rules, out)
		},
		Rules: rules, Unknown: "/shop.v1.CartService/Remove", Visit: visit, Buy: bought, Watch: watchOpen, Customer: true,
	})
}

func visit(t *testing.T, address string) []string {
	conn := dial(t, address)
	answer, err := call(t, conn, "Add", "socks")
	require.NoError(t, err)
	assert.Equal(t, "socks, 3 left", answer)
	_, err = call(t, conn, "Add", "")
	assert.Equal(t, codes.InvalidArgument, status.Code(err))
	_, err = call(t, conn, "Secret", "socks")
	assert.Equal(t, codes.Unimplemented, status.Code(err))
	assert.Equal(t, []string{"hats", "hats"}, watchAll(t, conn, "hats"))
	page := "http://" + address + "/shop.v1.CartService/Watch"
	return append(bought(t, address), "watching "+page+" map[]", "cart_watched "+page+" map[]")
}

// bought returns the events of the purchase of socks.
func bought(_ *testing.T, address string) []string {
	page := "http://" + address + "/shop.v1.CartService/Add"
	return []string{"stock_checked " + page + " map[left:3]", "added_to_cart " + page + " map[]"}
}

// watchOpen opens a stream that does not end.
func watchOpen(t *testing.T, address string) []string {
	stream, err := dial(t, address).NewStream(t.Context(), &cartService.Streams[0], "/shop.v1.CartService/Watch")
	require.NoError(t, err)
	require.NoError(t, stream.SendMsg(wrapperspb.String("")))
	require.NoError(t, stream.CloseSend())
	require.NoError(t, stream.RecvMsg(new(wrapperspb.StringValue)))
	page := "http://" + address + "/shop.v1.CartService/Watch"
	return []string{"watching " + page + " map[]", "cart_watched " + page + " map[]"}
}

// dial returns a connection for one test.
func dial(t *testing.T, address string) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, conn.Close()) })
	return conn
}

func call(t *testing.T, conn *grpc.ClientConn, method, product string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	answer := new(wrapperspb.StringValue)
	err := conn.Invoke(ctx, "/shop.v1.CartService/"+method, wrapperspb.String(product), answer)
	return answer.GetValue(), err
}

// watchAll calls Watch and returns what it sends.
func watchAll(t *testing.T, conn *grpc.ClientConn, product string) (received []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	stream, err := conn.NewStream(ctx, &cartService.Streams[0], "/shop.v1.CartService/Watch")
	require.NoError(t, err)
	require.NoError(t, stream.SendMsg(wrapperspb.String(product)))
	require.NoError(t, stream.CloseSend())
	for {
		message := new(wrapperspb.StringValue)
		err := stream.RecvMsg(message)
		if err == io.EOF {
			return received
		}
		require.NoError(t, err)
		received = append(received, message.GetValue())
	}
}
