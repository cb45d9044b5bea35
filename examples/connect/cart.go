package main

import (
	"context"
	"errors"
	"net/http"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/footfallconnect"
)

// protoc-gen-connect-go generates such constants and handlers for a service whose messages are
// google.protobuf.StringValue.
const (
	addProcedure   = "/shop.v1.CartService/Add"
	watchProcedure = "/shop.v1.CartService/Watch"
)

type text = wrapperspb.StringValue

// cart returns the handlers of the service by their procedure.
func cart(options ...connect.HandlerOption) map[string]http.Handler {
	return map[string]http.Handler{
		addProcedure:   connect.NewUnaryHandler(addProcedure, add, options...),
		watchProcedure: connect.NewServerStreamHandler(watchProcedure, watch, options...),
	}
}

func add(ctx context.Context, req *connect.Request[text]) (*connect.Response[text], error) {
	if req.Msg.GetValue() == "" {
		return nil, connect.NewError(connect.CodeInvalidArgument, errors.New("which product?"))
	}
	_ = footfallconnect.Track(ctx, "stock_checked", footfall.P("left", 3)) // the tracker counts and logs errors
	return connect.NewResponse(wrapperspb.String(req.Msg.GetValue() + ", 3 left")), nil
}

// watch sends the product twice. Without a product it runs until the caller leaves.
func watch(ctx context.Context, req *connect.Request[text], stream *connect.ServerStream[text]) error {
	_ = footfallconnect.Track(ctx, "watching")
	if req.Msg.GetValue() == "" {
		err := stream.Send(req.Msg)
		<-ctx.Done()
		return err
	}
	return errors.Join(stream.Send(req.Msg), stream.Send(req.Msg))
}
