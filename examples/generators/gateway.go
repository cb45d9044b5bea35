//go:build ci

package generators

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/examples/generators/shoppb"
)

type gatewayKey struct{}

type gatewayRoute struct {
	route  string
	values values
}

// values are the values of wildcards, for rules with PathProps.
type values map[string]string

// PathValue implements footfall.PathValuer.
func (v values) PathValue(name string) string { return v[name] }

// noteRoute is a middleware of the gateway's mux.
func noteRoute(next runtime.HandlerFunc) runtime.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request, params map[string]string) {
		pattern, found := runtime.HTTPPattern(r.Context())
		if noted, ok := r.Context().Value(gatewayKey{}).(*gatewayRoute); ok && found {
			path := strings.ReplaceAll(pattern.String(), "=*}", "}") // {id=*} is {id} in the description
			noted.route, noted.values = r.Method+" "+path, params
		}
		next(w, r, params)
	}
}

// countGateway is around a mux with noteRoute.
func countGateway(tracker *footfall.Tracker, mux *runtime.ServeMux, rules ...footfall.Rule) http.Handler {
	counted := tracker.Rules(rules...).Wrap(mux, func(r *http.Request) (string, bool, footfall.PathValuer) {
		noted := r.Context().Value(gatewayKey{}).(*gatewayRoute)
		return noted.route, false, noted.values
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		counted.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), gatewayKey{}, new(gatewayRoute))))
	})
}

func serveGateway(ctx context.Context, tracker *footfall.Tracker, shop shoppb.ShopServer, rules ...footfall.Rule) (http.Handler, error) {
	mux := runtime.NewServeMux(runtime.WithMiddlewares(noteRoute))
	err := shoppb.RegisterShopHandlerServer(ctx, mux, shop)
	return countGateway(tracker, mux, rules...), err
}

type gatewayShop struct {
	shoppb.UnimplementedShopServer
}

func (gatewayShop) GetProduct(ctx context.Context, in *shoppb.Product) (*shoppb.Product, error) {
	err := find(ctx, in.Id)
	if errors.Is(err, errMissing) {
		return nil, status.Error(codes.NotFound, err.Error())
	}
	return in, err
}

func (s gatewayShop) PlaceOrder(ctx context.Context, in *shoppb.Product) (*shoppb.Product, error) {
	return s.GetProduct(ctx, in)
}
