package footfallgrpc_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http/httptest"
	"net/netip"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/adaptertest"
	"github.com/footfall-dev/footfall/adapters/adaptertest/rpctest"
	"github.com/footfall-dev/footfall/adapters/footfallgrpc"
	"github.com/footfall-dev/footfall/footfalltest"
)

func TestAdapterPassesTheRPCSuite(t *testing.T) {
	t.Parallel()
	rpctest.Run(t, subject)
}

// A gRPC proxy answers any method that a client names, so only rules may name events.
func TestUnknownMethodHasNoRouteUnlessARuleNamesIt(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	proxy := func(_ any, ss grpc.ServerStream) error {
		method, _ := grpc.MethodFromServerStream(ss)
		if strings.HasSuffix(method, "/Missing") {
			return status.Error(codes.Unimplemented, "no such method")
		}
		message := new(wrapperspb.StringValue)
		if err := ss.RecvMsg(message); err != nil {
			return err
		}
		return ss.SendMsg(message)
	}
	server := grpc.NewServer(grpc.UnknownServiceHandler(proxy), grpc.StreamInterceptor(footfallgrpc.StreamServerInterceptor(tracker.Tracker,
		footfall.Rule{Route: "POST /stock.v1.Stock/Count", Event: "counted"},
		footfall.Rule{Route: footfall.AnyRoute},
		footfall.Rule{Route: footfall.NoRoute, Event: "missing"},
	)))
	go func() { _ = server.Serve(listener) }()
	c := dial(t, adaptertest.Address{Host: listener.Addr().String()}, "")
	for name, code := range map[string]codes.Code{
		"/stock.v1.Stock/Count": codes.OK, "/stock.v1.Stock/Secret": codes.OK, "/stock.v1.Stock/Missing": codes.Unimplemented,
	} {
		a := c.Call(t.Context(), rpctest.Procedure{Name: name}, nil, "hello")
		assert.EqualValues(t, code, a.Error.Code, name)
	}
	c.Close()
	server.GracefulStop()
	assert.ElementsMatch(t, []string{"counted", "missing"}, tracker.Names())
}

func TestAServerBelowNetHTTPKnowsItsPage(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	p := rpctest.Procedure{Name: "/shop.v1.CartService/Add", Handler: func(ctx context.Context, s rpctest.Stream) error {
		assert.NoError(t, footfall.Track(ctx, "in"))
		return s.Send("done")
	}}
	server := grpc.NewServer(grpc.UnaryInterceptor(footfallgrpc.UnaryServerInterceptor(tracker.Tracker, footfall.Rule{Route: p.Name, Event: "added"})))
	register(server, []rpctest.Procedure{p})
	below := httptest.NewUnstartedServer(server)
	below.EnableHTTP2 = true
	below.StartTLS()
	roots := x509.NewCertPool()
	roots.AddCert(below.Certificate())
	c := dial(t, adaptertest.Address{Host: below.Listener.Addr().String(), TLS: &tls.Config{RootCAs: roots}}, "")
	assert.Equal(t, []string{"done"}, c.Call(t.Context(), p, nil, "hello").Messages)
	c.Close()
	below.Close()
	server.Stop()
	for _, e := range tracker.Events() {
		assert.Equal(t, below.URL+p.Name, e.URL, e.Name)
	}
	assert.ElementsMatch(t, []string{"in", "added"}, tracker.Names())
}

func TestAHandlerThatEndsItsGoroutineIsAborted(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	const route = "/shop.v1.CartService/Add"
	interceptor := footfallgrpc.UnaryServerInterceptor(tracker.Tracker,
		footfall.Rule{Route: route, Event: "aborted", Status: footfall.Aborted}, footfall.Rule{Route: route, Event: "answered"})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = interceptor(t.Context(), nil, &grpc.UnaryServerInfo{FullMethod: route}, func(context.Context, any) (any, error) {
			runtime.Goexit()
			return nil, nil
		})
	}()
	<-ended
	assert.Equal(t, []string{"aborted"}, tracker.Names())
}

func TestACallWithoutMetadataOrPeerIsAnswered(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	const route = "/shop.v1.CartService/Add"
	interceptor := footfallgrpc.UnaryServerInterceptor(tracker.Tracker, footfall.Rule{Route: route, Event: "added"})
	answer, err := interceptor(t.Context(), "question", &grpc.UnaryServerInfo{FullMethod: route}, func(_ context.Context, req any) (any, error) {
		return req, nil
	})
	assert.NoError(t, err)
	assert.Equal(t, "question", answer)
	require.Len(t, tracker.Events(), 1)
	assert.Equal(t, "https://example.com/", tracker.Events()[0].URL, "Config.DefaultURL, where no host is known")
}

// A proxy may append its value to the client's.
func TestOnlyTheProxysForwardedValueIsTrusted(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t, func(c *footfall.Config) {
		c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
	})
	const route = "/shop.v1.CartService/Add"
	interceptor := footfallgrpc.UnaryServerInterceptor(tracker.Tracker, footfall.Rule{Route: route, Event: "added"})
	ctx := peer.NewContext(metadata.NewIncomingContext(t.Context(), metadata.Pairs(
		":authority", "10.0.0.1:8080",
		"x-forwarded-proto", "http", "x-forwarded-proto", "https",
		"x-forwarded-host", "client.example.com", "x-forwarded-host", "shop.example.com",
	)), &peer.Peer{Addr: &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 4711}})
	_, err := interceptor(ctx, nil, &grpc.UnaryServerInfo{FullMethod: route}, func(context.Context, any) (any, error) {
		return nil, nil
	})
	require.NoError(t, err)
	require.Len(t, tracker.Events(), 1)
	assert.Equal(t, "https://shop.example.com"+route, tracker.Events()[0].URL)
}

func TestCheckRulesRefusesMethodsThatTheServerDoesNotHave(t *testing.T) {
	t.Parallel()
	server := grpc.NewServer()
	register(server, []rpctest.Procedure{
		{Name: "/shop.v1.CartService/Add"},
		{Name: "/shop.v1.CartService/Watch", Kind: rpctest.ServerStream},
		{Name: "/Bare/Do", Kind: rpctest.BidiStream},
	})
	tracker := footfalltest.New(t).Tracker
	tests := map[string]bool{
		"/shop.v1.CartService/Add":      true,
		"POST /shop.v1.CartService/Add": true,
		"/shop.v1.CartService/Watch":    true,
		"/Bare/Do":                      true,
		footfall.AnyRoute:               true,
		footfall.NoRoute:                true,
		"/shop.v1.CartService/Remove":   false,
		"/shop.v1.OrderService/Add":     false,
		"GET /shop.v1.CartService/Add":  false,
		"/shop.v1.CartService/":         false,
		"shop.v1.CartService/Add":       false,
		"":                              false,
	}
	for route, known := range tests {
		err := footfallgrpc.CheckRules(tracker, server, footfall.Rule{Route: route, Event: "seen"})
		assert.Equal(t, known, err == nil, "%q: %v", route, err)
	}
	err := footfallgrpc.CheckRules(tracker, server, footfall.Rule{Route: "/a.B/C"}, footfall.Rule{Route: "/Bare/Do"}, footfall.Rule{Route: "/d.E/F"})
	assert.ErrorContains(t, err, "/a.B/C")
	assert.ErrorContains(t, err, "/d.E/F")
	assert.NotContains(t, err.Error(), "/Bare/Do")
	assert.NoError(t, footfallgrpc.CheckRules(nil, server, footfall.Rule{Route: "/a.B/C"}))
}

const measured = "/shop.v1.CartService/Checkout"

// measure returns calls of a generated handler: bare, as a server without
// interceptors calls it, and with a rule, its event and the context value.
func measure(tb testing.TB) (bare, wrapped func()) {
	p := rpctest.Procedure{Name: measured, Handler: func(context.Context, rpctest.Stream) error { return nil }}
	handler := func(srv any, ctx context.Context, dec func(any) error, interceptor grpc.UnaryServerInterceptor) (any, error) {
		in := new(emptypb.Empty)
		if err := dec(in); err != nil {
			return nil, err
		}
		if interceptor == nil {
			return in, nil
		}
		info := &grpc.UnaryServerInfo{Server: srv, FullMethod: p.Name}
		return interceptor(ctx, in, info, func(_ context.Context, req any) (any, error) { return req.(*emptypb.Empty), nil })
	}
	ctx := peer.NewContext(metadata.NewIncomingContext(tb.Context(), metadata.Pairs(
		":authority", "shop.example.com", "content-type", "application/grpc", "user-agent", "grpc-go/1.85.0", "grpc-accept-encoding", "gzip",
	)), &peer.Peer{Addr: &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 4711}})
	interceptor := footfallgrpc.UnaryServerInterceptor(adaptertest.Tracker(tb),
		footfall.Rule{Route: measured, Event: "checkout_completed", Status: footfall.Success})
	serve := func(interceptor grpc.UnaryServerInterceptor) func() {
		return func() { _, _ = handler(nil, ctx, func(any) error { return nil }, interceptor) }
	}
	return serve(nil), serve(interceptor)
}

func TestTheInterceptorAllocatesAtMostFive(t *testing.T) { // not parallel: it counts
	bare, wrapped := measure(t)
	adaptertest.Allocations(t, bare, wrapped, 5)
}

func BenchmarkGRPC(b *testing.B) {
	bare, wrapped := measure(b)
	adaptertest.Benchmark(b, bare, wrapped)
}
