package main

import (
	"context"

	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/footfallgqlgen"
	"github.com/footfall-dev/footfall/examples/gqlgen/graph"
)

// shop has the resolvers.
type shop struct{}

func (s shop) Query() graph.QueryResolver               { return s }
func (s shop) Mutation() graph.MutationResolver         { return s }
func (s shop) Subscription() graph.SubscriptionResolver { return s }

func (shop) Stock(context.Context, string) (int, error) { return 3, nil }

func (shop) AddToCart(ctx context.Context, product string) (bool, error) {
	if product == "" {
		return false, &gqlerror.Error{Message: "which product?", Extensions: map[string]any{"code": "BAD_USER_INPUT"}}
	}
	_ = footfallgqlgen.Track(ctx, "stock_checked", footfall.P("left", 3)) // the tracker counts and logs errors
	return true, nil
}

// CartChanged sends the product twice. Without a product it runs until the client leaves.
func (shop) CartChanged(ctx context.Context, product *string) (<-chan string, error) {
	_ = footfallgqlgen.Track(ctx, "watching")
	changes := make(chan string, 2)
	if product != nil && *product != "" {
		changes <- *product
		changes <- *product
		close(changes)
		return changes, nil
	}
	changes <- ""
	return changes, nil // generated code ends with ctx
}
