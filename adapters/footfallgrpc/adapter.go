// Package footfallgrpc makes events of the RPCs that a google.golang.org/grpc server
// has answered: see UnaryServerInterceptor.
//
// The route of an RPC is its full method, such as /shop.v1.CartService/Checkout. Its status
// is the HTTP status that the gRPC gateway gives its code:
//
//	200 OK                                              409 AlreadyExists, Aborted
//	400 InvalidArgument, FailedPrecondition, OutOfRange 429 ResourceExhausted
//	401 Unauthenticated                                 499 Canceled
//	403 PermissionDenied                                500 Unknown, Internal, DataLoss, any other
//	404 NotFound                                        501 Unimplemented
//	503 Unavailable                                     504 DeadlineExceeded
package footfallgrpc

import (
	"context"
	"crypto/tls"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/internal/ending"
	"github.com/footfall-dev/footfall/adapters/internal/rpcstatus"
)

// UnaryServerInterceptor returns an interceptor that makes events of answered unary
// RPCs, as rules say, and lets footfall.Track find tracker and page in the context.
// Give StreamServerInterceptor the same rules. Neither changes anything of an answer.
//
// An error counts with the code that the server sends for it. A panic passes on with
// its value, and counts as 500, or as footfall.Aborted if it is http.ErrAbortHandler:
// chain the interceptor after one that recovers. RPCs that do not reach a
// handler make no event. Wrong rules are logged and left out: see CheckRules.
//
// The page is :authority and full method, on https if the peer uses TLS. Config.Skip
// sees only headers that tracker or rules need. A nil or disabled tracker does nothing.
func UnaryServerInterceptor(tracker *footfall.Tracker, rules ...footfall.Rule) grpc.UnaryServerInterceptor {
	o := newObserver(tracker, rules)
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (resp any, err error) {
		c := o.begin(ctx, info.FullMethod)
		defer c.end()
		resp, err = handler(tracker.WithPage(ctx, c.page), req)
		c.err, c.returned = err, true
		return resp, err
	}
}

// StreamServerInterceptor is UnaryServerInterceptor for streams. It replaces only the
// stream's Context. The event is made when the stream has ended.
//
// An RPC to a grpc.UnknownServiceHandler has a route only if a rule names the method,
// because clients must not choose the names of events. Other such RPCs count for
// footfall.NoRoute if their code is Unimplemented.
func StreamServerInterceptor(tracker *footfall.Tracker, rules ...footfall.Rule) grpc.StreamServerInterceptor {
	o := newObserver(tracker, rules)
	return func(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
		c := o.begin(ss.Context(), info.FullMethod)
		if srv == nil && !o.named[info.FullMethod] {
			c.route = ""
		}
		defer c.end()
		c.err = handler(srv, &stream{ss, tracker.WithPage(ss.Context(), c.page)})
		c.returned = true
		return c.err
	}
}

// stream is a ServerStream with another context.
type stream struct {
	grpc.ServerStream
	ctx context.Context
}

// Context implements grpc.ServerStream.
func (s *stream) Context() context.Context { return s.ctx }

// Track is footfall.Track, for handlers. The error is footfall.ErrNoTracker without the
// interceptor or with Config.NoContextValue.
func Track(ctx context.Context, name string, props ...footfall.Prop) error {
	return footfall.Track(ctx, name, props...)
}

// CheckRules returns an error that joins one for every rule that is wrong or whose
// route is not a method of a service registered in server, a *grpc.Server. Call it
// when all are registered, to refuse a start with rules that never apply. Leave out
// rules for methods of a grpc.UnknownServiceHandler.
func CheckRules(tracker *footfall.Tracker, server interface {
	GetServiceInfo() map[string]grpc.ServiceInfo
}, rules ...footfall.Rule) error {
	var registered []string
	for service, info := range server.GetServiceInfo() {
		for _, method := range info.Methods {
			registered = append(registered, http.MethodPost+" /"+service+"/"+method.Name)
		}
	}
	return tracker.CheckRoutes(registered, rules...)
}

type observer struct {
	tracker *footfall.Tracker
	rules   *footfall.Rules
	named   map[string]bool      // full methods that a rule names
	keys    []string             // of metadata that becomes headers
	all     bool                 // all metadata becomes headers
	secure  *tls.ConnectionState // says that there is TLS, and nothing more
}

func newObserver(tracker *footfall.Tracker, rules []footfall.Rule) *observer {
	o := &observer{tracker: tracker, rules: tracker.Rules(rules...), named: make(map[string]bool), secure: new(tls.ConnectionState)}
	headers := o.rules.NeededHeaders()
	o.all = slices.ContainsFunc(rules, func(r footfall.Rule) bool { return r.PropsOf != nil })
	for _, name := range headers.Page {
		o.keys = append(o.keys, strings.ToLower(name))
	}
	if slices.Contains(headers.Observed, "Referer") {
		o.keys = append(o.keys, "referer")
	}
	for _, r := range rules {
		o.named[r.Route[max(0, strings.IndexByte(r.Route, '/')):]] = true
	}
	return o
}

// call is one RPC.
type call struct {
	ctx      context.Context // of the interceptors above
	rules    *footfall.Rules
	route    string
	page     footfall.Page
	request  http.Request // as net/http would have it
	url      url.URL
	err      error
	returned bool
}

func (o *observer) begin(ctx context.Context, method string) *call {
	c := &call{ctx: ctx, rules: o.rules, route: method, url: url.URL{Path: method}}
	c.request = http.Request{Method: http.MethodPost, URL: &c.url, Proto: "HTTP/2.0", ProtoMajor: 2}
	if authority := metadata.ValueFromIncomingContext(ctx, ":authority"); len(authority) > 0 {
		c.request.Host = authority[0]
	}
	c.request.Header = o.header(ctx)
	if p, ok := peer.FromContext(ctx); ok {
		if p.AuthInfo != nil && p.AuthInfo.AuthType() == "tls" {
			c.request.TLS = o.secure
		}
		if c.request.Header != nil && p.Addr != nil { // decides whether the headers are believed
			c.request.RemoteAddr = p.Addr.String()
		}
	}
	c.page = o.tracker.Page(&c.request).WithRoute(method)
	return c
}

// header returns the metadata that the rules use, or nil if there is none.
func (o *observer) header(ctx context.Context) (header http.Header) {
	add := func(key string, values []string) {
		if header == nil {
			header = make(http.Header)
		}
		header[http.CanonicalHeaderKey(key)] = values
	}
	if o.all {
		md, _ := metadata.FromIncomingContext(ctx)
		for key, values := range md {
			if !strings.HasPrefix(key, ":") {
				add(key, values)
			}
		}
		return header
	}
	for _, key := range o.keys {
		if values := metadata.ValueFromIncomingContext(ctx, key); len(values) > 0 {
			add(key, values)
		}
	}
	return header
}

// end is deferred. It passes on a panic with its value.
func (c *call) end() {
	panicked := recover()
	o := footfall.Observation{Method: http.MethodPost, Route: c.route, Status: statusOf(c.err), Page: c.page, Context: c.ctx, Request: &c.request}
	switch {
	case ending.Early(&o, panicked, c.returned):
	case o.Route == "" && o.Status == http.StatusNotImplemented:
		o.Status = http.StatusNotFound
	}
	c.rules.Observe(&o)
	if panicked != nil {
		panic(panicked)
	}
}

// statusOf returns the HTTP status, of the code that the server sends for err.
func statusOf(err error) int {
	s, ok := status.FromError(err)
	if !ok { // as the server does
		s = status.FromContextError(err)
	}
	return rpcstatus.Of(uint32(s.Code()))
}
