package main

import (
	"testing"

	"github.com/footfall-dev/footfall/examples/internal/exampletest"
)

func TestTheShopPassesTheExampleTests(t *testing.T) {
	t.Parallel()
	exampletest.RunShop(t, exampletest.Shop{Run: run, Rules: rules, Unknown: "GET /products/{slug}"})
}
