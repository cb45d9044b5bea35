//go:build ci

package generators

import (
	"context"
	"errors"
	"net/http"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/examples/generators/oapi"
)

func serveStrict(tracker *footfall.Tracker, shop oapi.StrictServerInterface, rules ...footfall.Rule) http.Handler {
	mux := http.NewServeMux()
	oapi.HandlerFromMux(oapi.NewStrictHandler(shop, nil), mux)
	return tracker.Middleware(rules...)(mux)
}

type strictShop struct{}

func (strictShop) GetProduct(ctx context.Context, in oapi.GetProductRequestObject) (oapi.GetProductResponseObject, error) {
	err := find(ctx, in.Id)
	if errors.Is(err, errMissing) {
		return oapi.GetProduct404JSONResponse{Message: err.Error()}, nil
	}
	return oapi.GetProduct200JSONResponse(in), err
}

func (strictShop) GetProductOnShelf(_ context.Context, in oapi.GetProductOnShelfRequestObject) (oapi.GetProductOnShelfResponseObject, error) {
	return oapi.GetProductOnShelf200JSONResponse{Id: in.Id}, nil
}

func (strictShop) PlaceOrder(ctx context.Context, in oapi.PlaceOrderRequestObject) (oapi.PlaceOrderResponseObject, error) {
	return oapi.PlaceOrder200JSONResponse{Id: in.Body.Id}, find(ctx, in.Body.Id)
}
