package post

import (
	"context"

	"github.com/footfall-dev/footfall"
)

// The values of the event. They are variables because an application does not have constants.
var plan, currency, amount, rate = "pro", "EUR", 4999, 0.19

const (
	apiKey  = "test-key"
	siteID  = "site_1"
	pageURL = "https://shop.example.com/checkout"
)

// body is Footfall's body for that event, for clients that need it ready-made.
const body = `{"site_id":"site_1","name":"checkout_completed","url":"https://shop.example.com/checkout","props":{"plan":"pro","amount":4999,"currency":"EUR","rate":0.19}}`

func track(ctx context.Context, tracker *footfall.Tracker) error {
	return tracker.Track(ctx, "checkout_completed",
		footfall.P("plan", plan), footfall.P("amount", amount), footfall.P("currency", currency), footfall.P("rate", rate))
}

// The header of its request, equal for all clients except the id.
const (
	idempotencyKey = "0197a1b2-0000-7000-8000-000000000000"
	jsonType       = "application/json"
	userAgent      = "footfall-go/devel"
)
