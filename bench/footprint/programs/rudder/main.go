// Command rudder tracks an event with each request.
package main

import (
	"log"
	"net/http"

	"github.com/footfall-dev/footfall/bench/footprint/hello"
	analytics "github.com/rudderlabs/analytics-go/v4"
)

func main() {
	client, err := analytics.NewWithConfig("key", analytics.Config{DataPlaneUrl: hello.Nowhere})
	if err != nil {
		log.Fatal(err)
	}
	hello.Serve(func(*http.Request) {
		_ = client.Enqueue(analytics.Track{UserId: "user_1", Event: "hello_said", Properties: analytics.NewProperties().Set("plan", "pro").Set("amount", 4999)})
	}, nil)
}
