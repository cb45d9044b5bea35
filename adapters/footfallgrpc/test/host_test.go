package footfallgrpc_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/adaptertest"
	"github.com/footfall-dev/footfall/adapters/adaptertest/rpctest"
	"github.com/footfall-dev/footfall/adapters/footfallgrpc"
)

var subject = rpctest.Subject{
	Serve: serve, Dial: dial, Track: footfallgrpc.Track,
	CheckRules: func(tracker *footfall.Tracker, procedures []rpctest.Procedure, rules ...footfall.Rule) error {
		server := grpc.NewServer()
		register(server, procedures)
		return footfallgrpc.CheckRules(tracker, server, rules...)
	},
}

// serve is an application that uses the adapter as its users do.
func serve(app rpctest.App, l net.Listener, secure *tls.Config) (stop func() error) {
	var unary []grpc.UnaryServerInterceptor
	var stream []grpc.StreamServerInterceptor
	for _, link := range app.Links {
		if link.Around != nil {
			unary, stream = append(unary, interceptor{link}.unary), append(stream, interceptor{link}.stream)
			continue
		}
		unary = append(unary, footfallgrpc.UnaryServerInterceptor(link.Tracker, link.Rules...))
		stream = append(stream, footfallgrpc.StreamServerInterceptor(link.Tracker, link.Rules...))
	}
	options := []grpc.ServerOption{grpc.ChainUnaryInterceptor(unary...), grpc.ChainStreamInterceptor(stream...)}
	if secure != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(secure)))
	}
	server := grpc.NewServer(options...)
	register(server, app.Procedures)
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	return func() error {
		server.GracefulStop()
		return <-served
	}
}

func register(server *grpc.Server, procedures []rpctest.Procedure) {
	services := make(map[string]*grpc.ServiceDesc)
	for _, p := range procedures {
		service, method, _ := strings.Cut(strings.TrimPrefix(p.Name, "/"), "/")
		desc, ok := services[service]
		if !ok {
			desc = &grpc.ServiceDesc{ServiceName: service, HandlerType: (*any)(nil)}
			services[service] = desc
		}
		if p.Kind == rpctest.Unary {
			desc.Methods = append(desc.Methods, grpc.MethodDesc{MethodName: method, Handler: unaryHandler(p)})
			continue
		}
		one := streamDesc(p)
		one.StreamName, one.Handler = method, func(_ any, ss grpc.ServerStream) error {
			return coded(p.Handler(ss.Context(), streamCall{ss, p.Kind}))
		}
		desc.Streams = append(desc.Streams, one)
	}
	for _, desc := range services {
		server.RegisterService(desc, struct{}{})
	}
}

func streamDesc(p rpctest.Procedure) grpc.StreamDesc {
	return grpc.StreamDesc{ClientStreams: p.Kind != rpctest.ServerStream, ServerStreams: p.Kind != rpctest.ClientStream}
}

// unaryHandler is what protoc-gen-go-grpc generates.
func unaryHandler(p rpctest.Procedure) func(any, context.Context, func(any) error, grpc.UnaryServerInterceptor) (any, error) {
	return func(srv any, ctx context.Context, dec func(any) error, interceptor grpc.UnaryServerInterceptor) (any, error) {
		in := new(wrapperspb.StringValue)
		if err := dec(in); err != nil {
			return nil, err
		}
		handler := func(ctx context.Context, req any) (any, error) {
			call := &unaryCall{ctx: ctx, in: []string{req.(*wrapperspb.StringValue).GetValue()}}
			if err := coded(p.Handler(ctx, call)); err != nil {
				return nil, err
			}
			return wrapperspb.String(call.out), nil
		}
		if interceptor == nil {
			return handler(ctx, in)
		}
		return interceptor(ctx, in, &grpc.UnaryServerInfo{Server: srv, FullMethod: p.Name}, handler)
	}
}

// coded turns an error of the suite into the framework's.
func coded(err error) error {
	if e, ok := err.(*rpctest.Error); ok {
		return status.Error(codes.Code(e.Code), e.Message)
	}
	if e, ok := errors.AsType[*rpctest.Error](err); ok {
		return fmt.Errorf("%v: %w", err, status.Error(codes.Code(e.Code), e.Message))
	}
	return err
}

// withContext is a stream with another context.
type withContext struct {
	grpc.ServerStream
	ctx context.Context
}

func (s withContext) Context() context.Context { return s.ctx }

// interceptor is an interceptor of the host.
type interceptor struct{ rpctest.Link }

func (l interceptor) unary(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (resp any, err error) {
	err = l.around(ctx, func(ctx context.Context) (err error) {
		resp, err = handler(ctx, req)
		return err
	})
	return resp, err
}

func (l interceptor) stream(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	return l.around(ss.Context(), func(ctx context.Context) error { return handler(srv, withContext{ss, ctx}) })
}

func (l interceptor) around(ctx context.Context, next func(context.Context) error) error {
	return coded(l.Around(ctx, func(key string) string { return header(ctx, key) }, next))
}

type unaryCall struct {
	ctx context.Context
	in  []string
	out string
}

func (c *unaryCall) Header(key string) string { return header(c.ctx, key) }
func (c *unaryCall) SetHeader(key, value string) {
	_ = grpc.SetHeader(c.ctx, metadata.Pairs(key, value))
}
func (c *unaryCall) SetTrailer(key, value string) {
	_ = grpc.SetTrailer(c.ctx, metadata.Pairs(key, value))
}

func (c *unaryCall) Receive() (string, error) {
	if len(c.in) == 0 {
		return "", io.EOF
	}
	message := c.in[0]
	c.in = nil
	return message, nil
}

func (c *unaryCall) Send(message string) error {
	c.out = message
	return nil
}

type streamCall struct {
	grpc.ServerStream
	kind rpctest.Kind
}

func (c streamCall) Header(key string) string { return header(c.Context(), key) }
func (c streamCall) SetHeader(key, value string) {
	_ = c.ServerStream.SetHeader(metadata.Pairs(key, value))
}
func (c streamCall) SetTrailer(key, value string) {
	c.ServerStream.SetTrailer(metadata.Pairs(key, value))
}
func (c streamCall) Send(message string) error { return c.SendMsg(wrapperspb.String(message)) }

func (c streamCall) Receive() (string, error) {
	message := new(wrapperspb.StringValue)
	err := c.RecvMsg(message)
	return message.GetValue(), err
}

func header(ctx context.Context, key string) string {
	return strings.Join(metadata.ValueFromIncomingContext(ctx, strings.ToLower(key)), ", ")
}

type client struct{ conn *grpc.ClientConn }

func dial(tb testing.TB, to adaptertest.Address, authority string) rpctest.Client {
	creds := insecure.NewCredentials()
	if to.TLS != nil {
		creds = credentials.NewTLS(to.TLS)
	}
	conn, err := grpc.NewClient(to.Host, grpc.WithTransportCredentials(creds), grpc.WithAuthority(authority), grpc.WithDisableRetry())
	if err != nil {
		tb.Fatal(err)
	}
	return client{conn}
}

func (c client) Close() { _ = c.conn.Close() }

func (c client) Call(ctx context.Context, p rpctest.Procedure, header []string, messages ...string) rpctest.Answer {
	ctx = metadata.NewOutgoingContext(ctx, metadata.Pairs(header...))
	var got metadata.MD
	var trailer metadata.MD
	var a rpctest.Answer
	var err error
	if p.Kind == rpctest.Unary {
		out := new(wrapperspb.StringValue)
		if err = c.conn.Invoke(ctx, p.Name, wrapperspb.String(messages[0]), out, grpc.Header(&got), grpc.Trailer(&trailer)); err == nil {
			a.Messages = []string{out.GetValue()}
		}
	} else {
		a.Messages, err = c.converse(ctx, p, messages, &got, &trailer)
	}
	a.Header, a.Trailer = got, trailer
	if err != nil {
		a.Error = rpctest.Error{Code: rpctest.Code(status.Code(err)), Message: status.Convert(err).Message()}
	}
	return a
}

func (c client) converse(ctx context.Context, p rpctest.Procedure, messages []string, header, trailer *metadata.MD) (received []string, err error) {
	desc := streamDesc(p)
	stream, err := c.conn.NewStream(ctx, &desc, p.Name, grpc.Header(header), grpc.Trailer(trailer))
	if err != nil {
		return nil, err
	}
	for _, m := range messages {
		if err := stream.SendMsg(wrapperspb.String(m)); err != nil {
			break // why, is known when receiving
		}
	}
	_ = stream.CloseSend() // never fails
	for {
		message := new(wrapperspb.StringValue)
		switch err := stream.RecvMsg(message); err {
		case nil:
			received = append(received, message.GetValue())
		case io.EOF:
			return received, nil
		default:
			return received, err
		}
		if p.Kind == rpctest.ClientStream {
			return received, nil // RecvMsg has seen the end
		}
	}
}
