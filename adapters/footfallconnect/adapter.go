// Package footfallconnect makes events of RPCs that handlers of connectrpc.com/connect
// have answered, in any of its protocols: see Middleware. Handlers track events that no
// rule can describe with Track(ctx, "coupon_applied").
//
// The route of an RPC is its procedure, such as /shop.v1.CartService/Checkout: with a
// leading slash, and without the HTTP method, which counts as POST even if the call was a
// GET. Its status is the HTTP status that the Connect protocol gives its code:
//
//	200 no error                                        409 AlreadyExists, Aborted
//	400 InvalidArgument, FailedPrecondition, OutOfRange 429 ResourceExhausted
//	401 Unauthenticated                                 499 Canceled
//	403 PermissionDenied                                500 Unknown, Internal, DataLoss, any other
//	404 NotFound                                        501 Unimplemented
//	503 Unavailable                                     504 DeadlineExceeded
//
// and 304 for connect.NewNotModifiedError in answer to a GET.
package footfallconnect

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/url"
	"os"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/internal/ending"
	"github.com/footfall-dev/footfall/adapters/internal/rpcstatus"
)

// Middleware returns an interceptor for connect.WithInterceptors that makes events of
// answered RPCs, unary and streaming, as rules say, and lets
// footfall.Track find tracker and page in the context. It changes nothing of an
// answer, and does nothing on the client's side.
//
// An error counts with the code that connect sends for it. A panic passes on with its
// value, and counts as 500, or as footfall.Aborted if it is http.ErrAbortHandler: list
// the interceptor after connect.WithRecover. A call that does not reach the interceptors
// (unknown procedure, unreadable message, refusal by a connect.WithRequestGate) makes no
// event, even with a rule for footfall.NoRoute. Wrong rules are logged and left out: see
// CheckRules.
//
// The page is host and procedure, on https if ConnContext saw TLS. Config.PublicURL
// and Config.TrustedProxies apply. Config.Skip gets a request with the
// headers, host, procedure and peer's address. A nil or disabled tracker does nothing.
//
// If Tracker.Middleware is above it, both apply their own rules: rules for the same RPC,
// or footfall.AnyRoute in the outer one, count it twice. The page in the handlers' context
// is the interceptor's.
func Middleware(tracker *footfall.Tracker, rules ...footfall.Rule) connect.Interceptor {
	set := tracker.Rules(rules...)
	return &interceptor{tracker, set, set.NeededHeaders()}
}

// secure is the key of a *tls.ConnectionState in the context of connections by TLS.
type secure struct{}

// ConnContext is for http.Server.ConnContext, or to be called there. It records which
// connections use TLS, because connect does not tell its interceptors. It is not needed
// if Config.PublicURL is set or a proxy terminates TLS.
func ConnContext(ctx context.Context, conn net.Conn) context.Context {
	if _, ok := conn.(interface{ ConnectionState() tls.ConnectionState }); ok {
		return context.WithValue(ctx, secure{}, new(tls.ConnectionState)) // says that there is TLS, and nothing more
	}
	return ctx
}

// Track is footfall.Track, for handlers. The error is footfall.ErrNoTracker without the
// interceptor or with Config.NoContextValue.
func Track(ctx context.Context, name string, props ...footfall.Prop) error {
	return footfall.Track(ctx, name, props...)
}

// CheckRules returns an error that joins one for every rule that is wrong or whose
// route is not among the procedures, which are constants of protoc-gen-connect-go or come
// from Procedures. Call it at start-up, to refuse a start with rules that never apply.
// Tracker.CheckRules reports whether a ServeMux has a handler for a rule's service.
func CheckRules(tracker *footfall.Tracker, procedures []string, rules ...footfall.Rule) error {
	var registered []string
	for _, procedure := range procedures {
		registered = append(registered, http.MethodPost+" "+procedure)
	}
	return tracker.CheckRoutes(registered, rules...)
}

// Procedures lists the procedures of services: shopv1.File_shop_proto.Services().ByName("Cart").
func Procedures(services ...protoreflect.ServiceDescriptor) []string {
	var procedures []string
	for _, service := range services {
		for i := range service.Methods().Len() {
			procedures = append(procedures, "/"+string(service.FullName())+"/"+string(service.Methods().Get(i).Name()))
		}
	}
	return procedures
}

// interceptor implements connect.Interceptor.
type interceptor struct {
	tracker *footfall.Tracker
	rules   *footfall.Rules
	headers footfall.NeededHeaders
}

func (i *interceptor) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, req connect.AnyRequest) (resp connect.AnyResponse, err error) {
		if req.Spec().IsClient {
			return next(ctx, req)
		}
		c := i.begin(ctx, req.Spec(), req.Peer(), req.Header(), req.HTTPMethod())
		defer c.end()
		resp, err = next(i.tracker.WithPage(ctx, c.page), req)
		c.err, c.returned = err, true
		c.unmodified = req.HTTPMethod() == http.MethodGet && connect.IsNotModifiedError(err)
		return resp, err
	}
}

func (*interceptor) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}

func (i *interceptor) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) error {
		c := i.begin(ctx, conn.Spec(), conn.Peer(), conn.RequestHeader(), http.MethodPost)
		defer c.end()
		c.err = next(i.tracker.WithPage(ctx, c.page), conn)
		c.returned = true
		return c.err
	}
}

// call is one RPC.
type call struct {
	ctx        context.Context // of the interceptors above
	rules      *footfall.Rules
	page       footfall.Page
	url        url.URL
	request    *http.Request // as net/http had it; nil if there is nothing to look at
	err        error
	unmodified bool
	returned   bool
}

func (i *interceptor) begin(ctx context.Context, spec connect.Spec, peer connect.Peer, header http.Header, method string) *call {
	c := &call{ctx: ctx, rules: i.rules, url: url.URL{Path: spec.Procedure}}
	r := http.Request{Method: method, URL: &c.url, Header: header, Host: header.Get("Host"), RemoteAddr: peer.Addr}
	r.TLS, _ = ctx.Value(secure{}).(*tls.ConnectionState)
	c.page = i.tracker.Page(&r).WithRoute(spec.Procedure)
	if i.headers.Needed(method) {
		c.request = new(r)
	}
	return c
}

// end is deferred, and passes on a panic with its value.
func (c *call) end() {
	panicked := recover()
	o := footfall.Observation{Method: http.MethodPost, Route: c.url.Path, Status: statusOf(c.err), Page: c.page, Context: c.ctx, Request: c.request}
	switch {
	case ending.Early(&o, panicked, c.returned):
	case c.unmodified:
		o.Status = http.StatusNotModified
	}
	c.rules.Observe(&o)
	if panicked != nil {
		panic(panicked)
	}
}

// statusOf returns the HTTP status, of the code that connect sends for err.
func statusOf(err error) int {
	if err == nil {
		return 200
	}
	code := connect.CodeOf(err)
	if _, ok := errors.AsType[*connect.Error](err); !ok { // as connect does
		switch {
		case errors.Is(err, context.Canceled):
			code = connect.CodeCanceled
		case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
			code = connect.CodeDeadlineExceeded
		}
	}
	return rpcstatus.Of(uint32(cmp.Or(code, connect.CodeUnknown)))
}
