// Command amplitude tracks an event with each request.
package main

import (
	"net/http"

	"github.com/amplitude/analytics-go/amplitude"
	"github.com/footfall-dev/footfall/bench/footprint/hello"
)

func main() {
	cfg := amplitude.NewConfig("key")
	cfg.ServerURL = hello.Nowhere
	client := amplitude.NewClient(cfg)
	hello.Serve(func(*http.Request) {
		client.Track(amplitude.Event{UserID: "user_1", EventType: "hello_said", EventProperties: map[string]any{"plan": "pro", "amount": 4999}})
	}, nil)
}
