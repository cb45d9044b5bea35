//go:build ci

package generators

import (
	"context"
	"errors"
	"net/http"

	goahttp "goa.design/goa/v3/http"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/footfallchi"
	"github.com/footfall-dev/footfall/examples/generators/gen/http/shop/server"
	"github.com/footfall-dev/footfall/examples/generators/gen/shop"
)

func serveGoa(tracker *footfall.Tracker, service shop.Service, rules ...footfall.Rule) http.Handler {
	mux := goahttp.NewMuxer() // a chi router
	mux.Use(footfallchi.Middleware(tracker, rules...))
	server.New(shop.NewEndpoints(service), mux, goahttp.RequestDecoder, goahttp.ResponseEncoder, nil, nil).Mount(mux)
	return mux
}

type goaShop struct{}

func (goaShop) Product(ctx context.Context, in *shop.ProductPayload) (string, error) {
	err := find(ctx, in.ID)
	if errors.Is(err, errMissing) {
		return "", shop.Missing(err.Error())
	}
	return in.ID, err
}

func (goaShop) Order(ctx context.Context, in *shop.OrderPayload) (string, error) {
	return in.ID, find(ctx, in.ID)
}
