// Command footfalllean delivers with the lean transport.
package main

import (
	"log"
	"net/http"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/bench/footprint/hello"
	"github.com/footfall-dev/footfall/lean"
)

func main() {
	tracker, err := lean.NewTracker(footfall.Config{BaseURL: hello.Nowhere, APIKey: "key", SiteID: "site_1"})
	if err != nil {
		log.Fatal(err)
	}
	hello.Serve(func(r *http.Request) {
		_ = tracker.TrackRequest(r, "hello_said", footfall.P("plan", "pro"), footfall.P("amount", 4999))
	}, nil)
}
