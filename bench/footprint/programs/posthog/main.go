// Command posthog tracks an event with each request.
package main

import (
	"log"
	"net/http"

	"github.com/footfall-dev/footfall/bench/footprint/hello"
	"github.com/posthog/posthog-go"
)

func main() {
	client, err := posthog.NewWithConfig("key", posthog.Config{Endpoint: hello.Nowhere})
	if err != nil {
		log.Fatal(err)
	}
	hello.Serve(func(*http.Request) {
		_ = client.Enqueue(posthog.Capture{DistinctId: "user_1", Event: "hello_said", Properties: posthog.NewProperties().Set("plan", "pro").Set("amount", 4999)})
	}, nil)
}
