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

// discard is an exporter that discards spans.
type discard struct{}

func (discard) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error { return nil }
func (discard) Shutdown(context.Context) error                             { return nil }

func main() {
	otel.SetTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithBatcher(discard{})))
	hello.Serve(nil, func(next http.Handler) http.Handler { return otelhttp.NewHandler(next, "hello") })
}
