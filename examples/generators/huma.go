//go:build ci

package generators

import (
	"context"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/go-chi/chi/v5"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/footfallchi"
)

func serveHuma(tracker *footfall.Tracker, rules ...footfall.Rule) http.Handler {
	mux := http.NewServeMux()
	register(humago.New(mux, huma.DefaultConfig("Shop", "1")))
	return tracker.Middleware(rules...)(mux)
}

func serveHumaWithChi(tracker *footfall.Tracker, rules ...footfall.Rule) http.Handler {
	router := chi.NewRouter()
	register(humachi.New(router, huma.DefaultConfig("Shop", "1")))
	return footfallchi.Middleware(tracker, rules...)(router)
}

// humaPages are the routes that huma adds.
var humaPages = []footfall.Rule{
	{Route: "GET /docs", Event: footfall.NoEvent},
	{Route: "GET /openapi.json", Event: footfall.NoEvent},
	{Route: "GET /openapi.yaml", Event: footfall.NoEvent},
	{Route: "GET /openapi-3.0.json", Event: footfall.NoEvent},
	{Route: "GET /openapi-3.0.yaml", Event: footfall.NoEvent},
	{Route: "GET /schemas/{schema}", Event: footfall.NoEvent},
}

func register(api huma.API) {
	huma.Get(api, "/products/{id}", humaProduct)
	huma.Post(api, "/orders", humaOrder)
}

type humaAnswer struct {
	Body struct {
		ID string `json:"id"`
	}
}

func humaProduct(ctx context.Context, in *struct {
	ID string `path:"id"`
}) (*humaAnswer, error) {
	return humaFind(ctx, in.ID)
}

func humaOrder(ctx context.Context, in *humaAnswer) (*humaAnswer, error) {
	return humaFind(ctx, in.Body.ID)
}

func humaFind(ctx context.Context, id string) (*humaAnswer, error) {
	err := find(ctx, id)
	if errors.Is(err, errMissing) {
		return nil, huma.Error404NotFound(err.Error())
	}
	answer := &humaAnswer{}
	answer.Body.ID = id
	return answer, err
}
