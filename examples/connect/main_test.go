package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/footfallconnect"
	"github.com/footfall-dev/footfall/examples/internal/exampletest"
	"github.com/footfall-dev/footfall/footfalltest"
)

func TestTheServicePassesTheExampleTests(t *testing.T) {
	t.Parallel()
	exampletest.Run(t, exampletest.Program{Run: run, Rules: rules, Unknown: "/shop.v1.CartService/Remove", Visit: visit, Buy: buy, Watch: watchOpen})
}

func visit(t *testing.T, base string) []string {
	post(t, base+addProcedure, "", http.StatusBadRequest)
	post(t, base+"/shop.v1.CartService/Secret", "socks", http.StatusNotFound)
	assert.Equal(t, []string{"hats", "hats"}, watchAll(t, base, "hats"))
	return append(buy(t, base), "watching "+base+watchProcedure+" map[]", "cart_watched "+base+watchProcedure+" map[]")
}

func buy(t *testing.T, base string) []string {
	post(t, base+addProcedure, "socks", http.StatusOK)
	return []string{"stock_checked " + base + addProcedure + " map[left:3]", "added_to_cart https://shop.example.com/socks map[]"}
}

// This test is not among the adapter's, because the lowest version that the adapter requires
// has no WithRequestGate.
func TestCallRefusedByARequestGateMakesNoEvent(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	counted := connect.WithInterceptors(footfallconnect.Middleware(tracker.Tracker, footfall.Rule{Route: footfall.AnyRoute}, footfall.Rule{Route: footfall.NoRoute}))
	refuse := connect.WithRequestGate(func(context.Context, connect.Spec, connect.Peer, http.Header) (context.Context, error) {
		return nil, connect.NewError(connect.CodeUnauthenticated, errors.New("who are you?"))
	})
	server := httptest.NewServer(connect.NewUnaryHandler(addProcedure, func(_ context.Context, r *connect.Request[text]) (*connect.Response[text], error) {
		return connect.NewResponse(r.Msg), nil
	}, counted, refuse))
	defer server.Close()
	post(t, server.URL+addProcedure, "socks", http.StatusUnauthorized)
	server.Close()
	assert.Empty(t, tracker.Names())
}

// watchOpen opens a stream that does not end.
func watchOpen(t *testing.T, base string) []string {
	stream, err := watcher(t, base).CallServerStream(t.Context(), connect.NewRequest(wrapperspb.String("")))
	require.NoError(t, err)
	t.Cleanup(func() { _ = stream.Close() }) // the program has ended by then
	require.True(t, stream.Receive(), stream.Err())
	return []string{"watching " + base + watchProcedure + " map[]", "cart_watched " + base + watchProcedure + " map[]"}
}

// watcher returns a client of Watch that uses gRPC, with a new connection.
func watcher(t *testing.T, base string) *connect.Client[text, text] {
	t.Helper()
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(transport.CloseIdleConnections)
	return connect.NewClient[text, text](&http.Client{Transport: transport}, base+watchProcedure, connect.WithGRPC())
}

// post calls a procedure as a page in a browser would.
func post(t *testing.T, url, product string, want int) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(`"`+product+`"`))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Referer", "https://shop.example.com/socks?token=secret")
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(r)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, want, answer.StatusCode)
}

// watchAll calls Watch by gRPC and returns what it sends.
func watchAll(t *testing.T, base, product string) (received []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	stream, err := watcher(t, base).CallServerStream(ctx, connect.NewRequest(wrapperspb.String(product)))
	require.NoError(t, err)
	for stream.Receive() {
		received = append(received, stream.Msg().GetValue())
	}
	require.NoError(t, stream.Err())
	require.NoError(t, stream.Close())
	return received
}
