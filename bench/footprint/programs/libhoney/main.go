// Command libhoney sends an event with each request.
package main

import (
	"log"
	"net/http"

	"github.com/footfall-dev/footfall/bench/footprint/hello"
	"github.com/honeycombio/libhoney-go"
)

func main() {
	client, err := libhoney.NewClient(libhoney.ClientConfig{APIKey: "key", Dataset: "hello", APIHost: hello.Nowhere})
	if err != nil {
		log.Fatal(err)
	}
	hello.Serve(func(*http.Request) {
		event := client.NewEvent()
		event.AddField("name", "hello_said")
		event.AddField("plan", "pro")
		event.AddField("amount", 4999)
		_ = event.Send()
	}, nil)
}
