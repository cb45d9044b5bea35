// Command footfall tracks an event with each request.
package main

import (
	"log"
	"net/http"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/bench/footprint/hello"
)

func main() {
	tracker, err := footfall.New(footfall.Config{BaseURL: hello.Nowhere, APIKey: "key", SiteID: "site_1"})
	if err != nil {
		log.Fatal(err)
	}
	hello.Serve(func(r *http.Request) {
		_ = tracker.TrackRequest(r, "hello_said", footfall.P("plan", "pro"), footfall.P("amount", 4999))
	}, nil)
}
