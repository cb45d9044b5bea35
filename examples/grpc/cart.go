package main

import (
	"context"
	"errors"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/footfallgrpc"
)

// cartService is the description that protoc-gen-go-grpc generates for a service whose
// messages are google.protobuf.StringValue.
var cartService = grpc.ServiceDesc{
	ServiceName: "shop.v1.CartService",
	HandlerType: (*any)(nil),
	Methods:     []grpc.MethodDesc{{MethodName: "Add", Handler: addHandler}},
	Streams:     []grpc.StreamDesc{{StreamName: "Watch", Handler: watch, ServerStreams: true}},
}

// nothing is a service that has no state.
type nothing struct{}

func addHandler(srv any, ctx context.Context, dec func(any) error, interceptor grpc.UnaryServerInterceptor) (any, error) {
	product := new(wrapperspb.StringValue)
	if err := dec(product); err != nil {
		return nil, err
	}
	handler := func(ctx context.Context, req any) (any, error) { return add(ctx, req.(*wrapperspb.StringValue)) }
	if interceptor == nil {
		return handler(ctx, product)
	}
	return interceptor(ctx, product, &grpc.UnaryServerInfo{Server: srv, FullMethod: "/shop.v1.CartService/Add"}, handler)
}

func add(ctx context.Context, product *wrapperspb.StringValue) (*wrapperspb.StringValue, error) {
	if product.GetValue() == "" {
		return nil, status.Error(codes.InvalidArgument, "which product?")
	}
	_ = footfallgrpc.Track(ctx, "stock_checked", footfall.P("left", 3)) // the tracker counts and logs errors
	return wrapperspb.String(product.GetValue() + ", 3 left"), nil
}

// watch sends the product twice. Without a product it runs until the caller leaves.
func watch(_ any, stream grpc.ServerStream) error {
	product := new(wrapperspb.StringValue)
	if err := stream.RecvMsg(product); err != nil {
		return err
	}
	_ = footfallgrpc.Track(stream.Context(), "watching")
	if product.GetValue() == "" {
		err := stream.SendMsg(product)
		<-stream.Context().Done()
		return err
	}
	return errors.Join(stream.SendMsg(product), stream.SendMsg(product))
}

// buy is a customer who puts socks in the cart.
func buy(ctx context.Context, address string) error {
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	return conn.Invoke(ctx, "/shop.v1.CartService/Add", wrapperspb.String("socks"), new(wrapperspb.StringValue))
}
