//go:build ci

package generators

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/examples/generators/ogenapi"
)

func serveOgen(tracker *footfall.Tracker, server *ogenapi.Server, rules ...footfall.Rule) http.Handler {
	return tracker.Rules(rules...).Wrap(server, func(r *http.Request) (string, bool, footfall.PathValuer) {
		route, found := server.FindPath(r.Method, r.URL)
		if !found {
			return "", false, nil
		}
		return r.Method + " " + route.PathPattern(), false, ogenRoute(route)
	})
}

type ogenRoute ogenapi.Route

func (r ogenRoute) PathValue(name string) string {
	route := ogenapi.Route(r)
	before, _, found := strings.Cut(route.PathPattern(), "{"+name+"}")
	if !found {
		return ""
	}
	return route.Args()[strings.Count(before, "{")]
}

type ogenShop struct{}

func (ogenShop) GetProduct(ctx context.Context, in ogenapi.GetProductParams) (ogenapi.GetProductRes, error) {
	err := find(ctx, in.ID)
	if errors.Is(err, errMissing) {
		return &ogenapi.Problem{Message: err.Error()}, nil
	}
	return &ogenapi.Product{ID: in.ID}, err
}

func (ogenShop) GetProductOnShelf(_ context.Context, in ogenapi.GetProductOnShelfParams) (*ogenapi.Product, error) {
	return &ogenapi.Product{ID: in.ID}, nil
}

func (ogenShop) PlaceOrder(ctx context.Context, in *ogenapi.Product) (*ogenapi.Product, error) {
	return in, find(ctx, in.ID)
}
