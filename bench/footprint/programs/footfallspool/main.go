// Command footfallspool keeps its events on disk until they are delivered.
package main

import (
	"log"
	"net/http"
	"os"
	"path/filepath"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/bench/footprint/hello"
	"github.com/footfall-dev/footfall/spool"
)

func main() {
	dir := filepath.Join(filepath.Dir(os.Args[0]), "spool")
	tracker, _, err := spool.Open(footfall.Config{BaseURL: hello.Nowhere, APIKey: "key", SiteID: "site_1"}, spool.Config{Dir: dir})
	if err != nil {
		log.Fatal(err)
	}
	hello.Serve(func(r *http.Request) {
		_ = tracker.TrackRequest(r, "hello_said", footfall.P("plan", "pro"), footfall.P("amount", 4999))
	}, nil)
}
