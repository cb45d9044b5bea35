// Command otellog emits a log record with each request.
package main

import (
	"context"
	"log"
	"net/http"

	"github.com/footfall-dev/footfall/bench/footprint/hello"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	otellog "go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"
)

func main() {
	exporter, err := otlploghttp.New(context.Background(), otlploghttp.WithEndpointURL(hello.Nowhere))
	if err != nil {
		log.Fatal(err)
	}
	logger := sdklog.NewLoggerProvider(sdklog.WithProcessor(sdklog.NewBatchProcessor(exporter))).Logger("hello")
	hello.Serve(func(r *http.Request) {
		var record otellog.Record
		record.SetEventName("hello_said")
		record.AddAttributes(attribute.String("plan", "pro"), attribute.Int("amount", 4999))
		logger.Emit(r.Context(), record)
	}, nil)
}
