// Command mixpanel sends an event with each request, which waits for it.
package main

import (
	"net/http"

	"github.com/footfall-dev/footfall/bench/footprint/hello"
	"github.com/mixpanel/mixpanel-go"
)

func main() {
	client := mixpanel.NewApiClient("key", mixpanel.ProxyApiLocation(hello.Nowhere))
	hello.Serve(func(r *http.Request) {
		_ = client.Track(r.Context(), []*mixpanel.Event{client.NewEvent("hello_said", "user_1", map[string]any{"plan": "pro", "amount": 4999})})
	}, nil)
}
