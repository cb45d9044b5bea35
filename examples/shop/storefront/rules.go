package storefront

import "github.com/footfall-dev/footfall"

// Rules say which answered requests make an event. The handler tracks events with data that
// no rule has, such as the price of an order: see (*shop).buy and (*Orders).place.
var Rules = []footfall.Rule{
	{Route: "GET /{$}", Event: "home_viewed"},

	// Success only: a product that does not exist was not viewed.
	{Route: "GET /products/{slug}", Event: "product_viewed", Status: footfall.Success, PathProps: []string{"slug"}},

	{Route: "POST /basket", Event: "basket_added", Status: footfall.Success},
	{Route: "POST /basket/remove", Event: "basket_removed", Status: footfall.Success},
	{Route: "GET /basket", Event: "basket_viewed"},

	{Route: "GET /checkout", Event: "checkout_started", Status: footfall.Success},
	{Route: "POST /checkout", Event: "checkout_completed", Status: footfall.Success},
	{Route: "POST /checkout", Event: "checkout_failed", Status: footfall.Failure},
	{Route: "GET /thanks", Event: "thanks_viewed"},

	// The shop's own answer to an unknown address; the style sheet has no rule.
	{Route: "GET /", Event: "page_not_found", Status: footfall.Status4xx},
}
