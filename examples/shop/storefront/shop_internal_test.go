package storefront

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
)

func TestTheBasketIgnoresUnknownProducts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cookie string
		pieces int
	}{
		"as it was saved":      {"cloud-mug=2&long-lamp=1", 3},
		"unknown product":      {"gold-bar=1&cloud-mug=1", 1},
		"more than it may":     {"cloud-mug=1000000", maxQuantity},
		"negative":             {"cloud-mug=-3", 0},
		"no number":            {"cloud-mug=many", 0},
		"not a basket at all":  {"%zz", 0},
		"the same thing twice": {"cloud-mug=1&cloud-mug=5", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &http.Request{Header: http.Header{"Cookie": {basketCookie + "=" + c.cookie}}}
			assert.Equal(t, c.pieces, basketOf(r).Pieces())
		})
	}
}

func TestARuleForNoRouteRefusesTheStart(t *testing.T) {
	t.Parallel()
	misspelt := append([]footfall.Rule{{Route: "POST /chekout", Event: "checkout_completed"}}, Rules...)
	tracker := footfalltest.New(t)
	err := tracker.CheckRules(newShop(nil, nil).routes(), misspelt...)
	assert.ErrorContains(t, err, `Rule{"POST /chekout"}`)
	assert.NoError(t, tracker.CheckRules(newShop(nil, nil).routes(), Rules...))
}
