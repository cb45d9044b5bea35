// Command otelhttp makes spans, and exports them to an exporter that discards them.
package main

import (
	"context"
	"net/http"

	"github.com/footfall-dev/footfall/bench/footprint/hello"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// An exporter that discards spans.
type nobody struct{}

func (nobody) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error { return nil }
func (nobody) Shutdown(context.Context) error                             { return nil }

func main() {
	otel.SetTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithBatcher(nobody{})))
	hello.Serve(nil, func(next http.Handler) http.Handler { return otelhttp.NewHandler(next, "hello") })
}
