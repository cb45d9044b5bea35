package footfallconnect_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"runtime"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/adaptertest"
	"github.com/footfall-dev/footfall/adapters/adaptertest/rpctest"
	"github.com/footfall-dev/footfall/adapters/footfallconnect"
	"github.com/footfall-dev/footfall/footfalltest"
)

func TestAdapterPassesTheRPCSuite(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][]connect.ClientOption{
		"Connect": nil, "gRPC": {connect.WithGRPC()}, "gRPC-Web": {connect.WithGRPCWeb()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rpctest.Run(t, subject(options...))
		})
	}
}

const add = "/shop.v1.CartService/Add"

// adding is a unary handler that answers with what it receives, or fails.
func adding(err error, options ...connect.HandlerOption) http.Handler {
	return connect.NewUnaryHandler(add, func(ctx context.Context, req *connect.Request[message]) (*connect.Response[message], error) {
		if err == nil {
			err := footfall.Track(ctx, "in")
			if err != nil && !errors.Is(err, footfall.ErrNoTracker) {
				return nil, err
			}
		}
		return connect.NewResponse(req.Msg), err
	}, options...)
}

// ask sends a JSON string to a handler, as a browser would.
func ask(t *testing.T, handler http.Handler, path string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), "POST", path, strings.NewReader(`"socks"`))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w
}

func intercepted(tracker *footfalltest.Tracker, rules ...footfall.Rule) connect.HandlerOption {
	return connect.WithInterceptors(footfallconnect.Middleware(tracker.Tracker, rules...))
}

func TestOnTheClientsSideTheInterceptorDoesNothing(t *testing.T) {
	t.Parallel()
	own := footfalltest.New(t)
	interceptor := footfallconnect.Middleware(own.Tracker, footfall.Rule{Route: footfall.AnyRoute}, footfall.Rule{Route: footfall.NoRoute})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var app rpctest.App
	for _, kind := range rpctest.Kinds {
		app.Procedures = append(app.Procedures, rpctest.Procedure{Name: add + kind.String()[:2], Kind: kind, Handler: func(ctx context.Context, s rpctest.Stream) error {
			assert.ErrorIs(t, footfall.Track(ctx, "in"), footfall.ErrNoTracker)
			text, err := s.Receive()
			return errors.Join(err, s.Send(text))
		}})
	}
	stop := serve(app, listener, nil)
	c := dialer(connect.WithInterceptors(interceptor))(t, adaptertest.Address{Host: listener.Addr().String()}, "")
	for _, p := range app.Procedures {
		assert.Equal(t, []string{"socks"}, c.Call(t.Context(), p, nil, "socks").Messages, p.Kind)
	}
	c.Close()
	assert.NoError(t, stop())
	assert.Empty(t, own.Events())
}

func TestAGetIsRecordedUnderItsProcedure(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	rules := []footfall.Rule{{Route: "POST " + add, Event: "added"}, {Route: add, Event: "failed", Status: footfall.Failure}}
	for err, want := range map[error]int{nil: 200, connect.NewNotModifiedError(nil): 304} {
		server := httptest.NewServer(adding(err, intercepted(tracker, rules...), connect.WithIdempotency(connect.IdempotencyNoSideEffects)))
		answer, err := http.Get(server.URL + add + "?encoding=json&message=" + url.QueryEscape(`"socks"`))
		require.NoError(t, err)
		assert.NoError(t, answer.Body.Close())
		assert.Equal(t, want, answer.StatusCode)
		server.Close()
	}
	assert.ElementsMatch(t, []string{"in", "added", "added"}, tracker.Names())

	posted := ask(t, adding(connect.NewNotModifiedError(nil), intercepted(tracker, rules...)), add)
	assert.Equal(t, 500, posted.Code, "304 is an answer to a GET only")
	assert.Equal(t, []string{"added", "failed"}, tracker.Names()[3:])
}

func TestPrefetchMakesNoEvent(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	server := httptest.NewServer(adding(nil, intercepted(tracker, footfall.Rule{Route: add, Event: "added"}), connect.WithIdempotency(connect.IdempotencyNoSideEffects)))
	defer server.Close()
	r, err := http.NewRequestWithContext(t.Context(), "GET", server.URL+add+"?encoding=json&message="+url.QueryEscape(`"socks"`), nil)
	require.NoError(t, err)
	for _, purpose := range []string{"prefetch", ""} {
		r.Header.Set("Sec-Purpose", purpose)
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		assert.NoError(t, answer.Body.Close())
		assert.Equal(t, 200, answer.StatusCode)
	}
	assert.ElementsMatch(t, []string{"in", "in", "added"}, tracker.Names())
}

func TestThePlaceOfRecoverDecidesWhatIsRecorded(t *testing.T) {
	t.Parallel()
	teapot := func(context.Context, connect.Spec, http.Header, any) error {
		return connect.NewError(connect.CodeAborted, errors.New("it panicked"))
	}
	rules := []footfall.Rule{
		{Route: add, Event: "server", Status: footfall.Status5xx}, {Route: add, Event: "client", Status: footfall.Status4xx},
	}
	panics := func(options ...connect.HandlerOption) http.Handler {
		return connect.NewUnaryHandler(add, func(context.Context, *connect.Request[message]) (*connect.Response[message], error) { panic("boom") }, options...)
	}
	tracker := footfalltest.New(t)
	ask(t, panics(connect.WithRecover(teapot), intercepted(tracker, rules...)), add)
	ask(t, panics(intercepted(tracker, rules...), connect.WithRecover(teapot)), add)
	assert.Equal(t, []string{"server", "client"}, tracker.Names())
	assert.PanicsWithValue(t, "boom", func() { ask(t, panics(intercepted(tracker, rules...)), add) })
}

func TestAHandlerThatEndsItsGoroutineIsAborted(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	ends := connect.NewUnaryHandler(add, func(context.Context, *connect.Request[message]) (*connect.Response[message], error) {
		runtime.Goexit()
		return nil, nil
	}, intercepted(tracker, footfall.Rule{Route: add, Event: "aborted", Status: footfall.Aborted}, footfall.Rule{Route: add, Event: "answered"}))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		ask(t, ends, add)
	}()
	<-ended
	assert.Equal(t, []string{"aborted"}, tracker.Names())
}

func TestCallsThatDoNotReachInterceptorsMakeNoEvent(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	rules := intercepted(tracker, footfall.Rule{Route: footfall.AnyRoute}, footfall.Rule{Route: footfall.NoRoute})
	for _, text := range []string{"text/plain", "application/json"} {
		r := httptest.NewRequest("POST", add, strings.NewReader("{"))
		r.Header.Set("Content-Type", text)
		w := httptest.NewRecorder()
		adding(nil, rules).ServeHTTP(w, r)
		assert.GreaterOrEqual(t, w.Code, 400)
	}
	assert.Empty(t, tracker.Events())
}

// mounted is a mux as connect's generated handlers are put on one.
func mounted(handler http.Handler) *http.ServeMux {
	mux := http.NewServeMux()
	mux.Handle("/shop.v1.CartService/", handler)
	mux.Handle("GET /basket", http.NotFoundHandler())
	return mux
}

func TestMiddlewareAndInterceptorEachApplyTheirOwnRules(t *testing.T) {
	t.Parallel()
	rpc := footfall.Rule{Route: add, Event: "added"}
	tests := []struct {
		name   string
		around []footfall.Rule
		want   []string
	}{
		{"rules for the RPC in the interceptor only", []footfall.Rule{{Route: "GET /basket"}}, []string{"in", "added"}},
		{"no rules around", nil, []string{"in", "added"}},
		{"a rule for the service around", []footfall.Rule{{Route: "/shop.v1.CartService/", Event: "called"}}, []string{"in", "added", "called"}},
		{"any route around", []footfall.Rule{{Route: footfall.AnyRoute}}, []string{"in", "added", "post_shop_v1_cartservice_any"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tracker := footfalltest.New(t)
			handler := tracker.Middleware(tt.around...)(mounted(adding(nil, intercepted(tracker, rpc))))
			assert.JSONEq(t, `"socks"`, ask(t, handler, "http://shop.example.com"+add).Body.String())
			assert.Equal(t, tt.want, tracker.Names())
			for _, e := range tracker.Events() {
				assert.Equal(t, "http://shop.example.com"+add, e.URL, e.Name)
			}
		})
	}
	t.Run("a handler without the interceptor", func(t *testing.T) {
		t.Parallel()
		tracker := footfalltest.New(t)
		ask(t, tracker.Middleware(footfall.Rule{Route: "/shop.v1.CartService/", Event: "called"})(mounted(adding(nil))), add)
		assert.Equal(t, []string{"in", "called"}, tracker.Names())
	})
}

func TestServiceBelowAPrefixKeepsItsProcedure(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	mux := http.NewServeMux()
	mux.Handle("/api/", http.StripPrefix("/api", mounted(adding(nil, intercepted(tracker, footfall.Rule{Route: add, Event: "added"})))))
	assert.Equal(t, 200, ask(t, mux, "/api"+add).Code)
	assert.Equal(t, []string{"in", "added"}, tracker.Names())
}

func TestOverHTTP1AndTLSThePageIsHTTPS(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	server := httptest.NewUnstartedServer(adding(nil, intercepted(tracker, footfall.Rule{Route: add, Event: "added"})))
	server.Config.ConnContext = footfallconnect.ConnContext
	server.StartTLS()
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	own := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	answer, err := own.Post(server.URL+add, "application/json", strings.NewReader(`"socks"`))
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, answer.Body)
	assert.NoError(t, errors.Join(err, answer.Body.Close()))
	assert.Equal(t, 1, answer.ProtoMajor)
	server.Close()
	require.Len(t, tracker.Events(), 2)
	for _, e := range tracker.Events() {
		assert.Equal(t, server.URL+add, e.URL)
	}
}

// A proxy may append its header line to the client's.
func TestOnlyTheProxysForwardedLineIsTrusted(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t, func(c *footfall.Config) {
		c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")} // of httptest.NewRequest
	})
	r := httptest.NewRequestWithContext(t.Context(), "POST", add, strings.NewReader(`"socks"`))
	r.Header = http.Header{
		"Content-Type":      {"application/json"},
		"X-Forwarded-Proto": {"http", "https"},
		"X-Forwarded-Host":  {"client.example.com", "shop.example.com"},
	}
	adding(nil, intercepted(tracker, footfall.Rule{Route: add, Event: "added"})).ServeHTTP(httptest.NewRecorder(), r)
	require.Len(t, tracker.Events(), 2)
	for _, e := range tracker.Events() {
		assert.Equal(t, "https://shop.example.com"+add, e.URL, e.Name)
	}
}

func TestConnContextLeavesPlainConnectionsAlone(t *testing.T) {
	t.Parallel()
	plain, peer := net.Pipe()
	t.Cleanup(func() { assert.NoError(t, errors.Join(plain.Close(), peer.Close())) })
	ctx := t.Context()
	assert.Equal(t, ctx, footfallconnect.ConnContext(ctx, plain))
	assert.NotEqual(t, ctx, footfallconnect.ConnContext(ctx, tls.Server(plain, nil)))
}

// cart describes a service as generated code does.
func cart(t *testing.T) protoreflect.ServiceDescriptor {
	t.Helper()
	method := func(name string) *descriptorpb.MethodDescriptorProto {
		empty := ".google.protobuf.Empty"
		return &descriptorpb.MethodDescriptorProto{Name: &name, InputType: &empty, OutputType: &empty}
	}
	name, pkg, service, syntax := "shop/v1/cart.proto", "shop.v1", "CartService", "proto3"
	file, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: &name, Package: &pkg, Syntax: &syntax, Dependency: []string{emptypb.File_google_protobuf_empty_proto.Path()},
		Service: []*descriptorpb.ServiceDescriptorProto{{Name: &service, Method: []*descriptorpb.MethodDescriptorProto{method("Add"), method("Watch")}}},
	}, filesOf{emptypb.File_google_protobuf_empty_proto})
	require.NoError(t, err)
	return file.Services().ByName("CartService")
}

// filesOf resolves what one file declares.
type filesOf struct{ file protoreflect.FileDescriptor }

func (f filesOf) FindFileByPath(string) (protoreflect.FileDescriptor, error) { return f.file, nil }

func (f filesOf) FindDescriptorByName(name protoreflect.FullName) (protoreflect.Descriptor, error) {
	return f.file.Messages().ByName(name.Name()), nil
}

func TestCheckRulesRefusesProceduresThatNoServiceHas(t *testing.T) {
	t.Parallel()
	procedures := append(footfallconnect.Procedures(cart(t), cart(t)), "/other.v1.Other/Do")
	assert.Equal(t, []string{add, "/shop.v1.CartService/Watch", add, "/shop.v1.CartService/Watch", "/other.v1.Other/Do"}, procedures)
	tracker := footfalltest.New(t).Tracker
	tests := map[string]bool{
		add:                          true,
		"POST " + add:                true,
		"/shop.v1.CartService/Watch": true,
		"/other.v1.Other/Do":         true,
		footfall.AnyRoute:            true,
		footfall.NoRoute:             true,
		"/shop.v1.CartService/Gone":  false,
		"/shop.v1.OrderService/Add":  false,
		"GET " + add:                 false,
		"/shop.v1.CartService/":      false,
		"":                           false,
	}
	for route, known := range tests {
		err := footfallconnect.CheckRules(tracker, procedures, footfall.Rule{Route: route, Event: "seen"})
		assert.Equal(t, known, err == nil, "%q: %v", route, err)
	}
	err := footfallconnect.CheckRules(tracker, procedures, footfall.Rule{Route: "/a.B/C"}, footfall.Rule{Route: add}, footfall.Rule{Route: "/d.E/F"})
	assert.ErrorContains(t, err, "/a.B/C")
	assert.ErrorContains(t, err, "/d.E/F")
	assert.NoError(t, footfallconnect.CheckRules(nil, procedures, footfall.Rule{Route: "/a.B/C"}))
}

// CheckRules documents this.
func TestAMuxTellsWhetherTheServiceIsMounted(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	mux := mounted(adding(nil))
	assert.NoError(t, tracker.CheckRules(mux, footfall.Rule{Route: add}))
	assert.Error(t, tracker.CheckRules(mux, footfall.Rule{Route: "/shop.v1.OrderService/Add"}))
}

const measured = "/shop.v1.CartService/Checkout"

// measure returns calls of a handler: bare, and with a rule, its event and the
// context value.
func measure(tb testing.TB) (bare, wrapped func()) {
	serve := func(options ...connect.HandlerOption) func() {
		answer := connect.NewResponse(new(wrapperspb.StringValue))
		handler := connect.NewUnaryHandler(measured, func(context.Context, *connect.Request[emptypb.Empty]) (*connect.Response[wrapperspb.StringValue], error) {
			return answer, nil
		}, options...)
		template := http.Request{
			Method: http.MethodPost, Host: "shop.example.com", URL: &url.URL{Path: measured}, RemoteAddr: "192.0.2.1:4711",
			Proto: "HTTP/2.0", ProtoMajor: 2, Header: http.Header{"Content-Type": {"application/proto"}}, Body: http.NoBody,
		}
		w := &nullWriter{header: make(http.Header)}
		return func() {
			r := template
			handler.ServeHTTP(w, &r)
		}
	}
	interceptor := footfallconnect.Middleware(adaptertest.Tracker(tb),
		footfall.Rule{Route: measured, Event: "checkout_completed", Status: footfall.Success})
	return serve(), serve(connect.WithInterceptors(interceptor))
}

type nullWriter struct{ header http.Header }

func (w *nullWriter) Header() http.Header         { return w.header }
func (w *nullWriter) Write(b []byte) (int, error) { return len(b), nil }
func (w *nullWriter) WriteHeader(int)             {}

func TestTheInterceptorAllocatesAtMostFive(t *testing.T) { // not parallel: it counts
	bare, wrapped := measure(t)
	adaptertest.Allocations(t, bare, wrapped, 5)
}

func BenchmarkConnect(b *testing.B) {
	bare, wrapped := measure(b)
	adaptertest.Benchmark(b, bare, wrapped)
}
