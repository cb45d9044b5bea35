//go:build ci

package generators

import (
	"context"
	"errors"
	"net/http"

	"github.com/twitchtv/twirp"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/examples/generators/shoppb"
)

func serveTwirp(tracker *footfall.Tracker, shop shoppb.Shop, rules ...footfall.Rule) http.Handler {
	server := shoppb.NewShopServer(shop)
	mux := http.NewServeMux()
	mux.Handle(server.PathPrefix(), server)
	methods := shoppb.File_shop_proto.Services().ByName("Shop").Methods()
	for i := range methods.Len() {
		mux.Handle("POST "+server.PathPrefix()+string(methods.Get(i).Name()), server)
	}
	return tracker.Middleware(rules...)(mux)
}

type twirpShop struct{}

func (twirpShop) GetProduct(ctx context.Context, in *shoppb.Product) (*shoppb.Product, error) {
	err := find(ctx, in.Id)
	if errors.Is(err, errMissing) {
		return nil, twirp.NotFoundError(err.Error())
	}
	return in, err
}

func (s twirpShop) PlaceOrder(ctx context.Context, in *shoppb.Product) (*shoppb.Product, error) {
	return s.GetProduct(ctx, in)
}
