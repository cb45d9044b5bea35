// Command sentryhttp reports panics and traces.
package main

import (
	"log"
	"strings"

	"github.com/footfall-dev/footfall/bench/footprint/hello"
	"github.com/getsentry/sentry-go"
	sentryhttp "github.com/getsentry/sentry-go/http"
)

func main() {
	dsn := strings.Replace(hello.Nowhere, "://", "://key@", 1) + "/1"
	if err := sentry.Init(sentry.ClientOptions{Dsn: dsn, EnableTracing: true, TracesSampleRate: 1}); err != nil {
		log.Fatal(err)
	}
	hello.Serve(nil, sentryhttp.New(sentryhttp.Options{Repanic: true}).Handle)
}
