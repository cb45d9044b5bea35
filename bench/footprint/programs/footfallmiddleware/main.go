// Command footfallmiddleware tracks each request by a rule.
package main

import (
	"log"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/bench/footprint/hello"
)

func main() {
	tracker, err := footfall.New(footfall.Config{BaseURL: hello.Nowhere, APIKey: "key", SiteID: "site_1"})
	if err != nil {
		log.Fatal(err)
	}
	hello.Serve(nil, tracker.Middleware(footfall.Rule{Route: "GET /", Event: "hello_said"}))
}
