// Command sentrylog logs a line with each request.
package main

import (
	"context"
	"log"
	"net/http"
	"strings"

	"github.com/footfall-dev/footfall/bench/footprint/hello"
	"github.com/getsentry/sentry-go"
)

func main() {
	client, err := sentry.NewClient(sentry.ClientOptions{Dsn: strings.Replace(hello.Nowhere, "://", "://key@", 1) + "/1"})
	if err != nil {
		log.Fatal(err)
	}
	logger := sentry.NewLogger(sentry.SetHubOnContext(context.Background(), sentry.NewHub(client, sentry.NewScope())))
	hello.Serve(func(*http.Request) {
		logger.Info().String("plan", "pro").Int("amount", 4999).Emit("hello_said")
	}, nil)
}
