package peers

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	logspb "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	"google.golang.org/protobuf/proto"
)

func otelPeer() Peer {
	return Peer{
		Name: "otel log", Module: "go.opentelemetry.io/otel/sdk/log",
		Setting:  "LoggerProvider with a BatchProcessor and otlploghttp, defaults; an error handler that counts; WithMaxQueueSize is the bound",
		OpenWith: openOTel, Decode: decodeOTel, Answer: answerOTel,
	}
}

// countErrors runs once, because the SDK's error handler is global and prints to stderr.
var (
	countErrors = sync.OnceFunc(func() {
		otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) { otelErrors.Add(1) }))
	})
	otelErrors atomic.Int64
)

func openOTel(s Setup) (Client, error) {
	countErrors()
	options := []otlploghttp.Option{otlploghttp.WithEndpointURL(s.URL + "/v1/logs")}
	if s.Transport != nil {
		options = append(options, otlploghttp.WithHTTPClient(&http.Client{Transport: s.Transport}))
	}
	exporter, err := otlploghttp.New(context.Background(), options...)
	if err != nil {
		return nil, err
	}
	var batching []sdklog.BatchProcessorOption
	if s.Queue > 0 {
		batching = append(batching, sdklog.WithMaxQueueSize(s.Queue))
	}
	provider := sdklog.NewLoggerProvider(sdklog.WithProcessor(sdklog.NewBatchProcessor(exporter, batching...)))
	return &otelClient{provider, provider.Logger("shop"), otelErrors.Load()}, nil
}

type otelClient struct {
	provider *sdklog.LoggerProvider
	logger   log.Logger
	before   int64 // errors of earlier clients
}

func (c *otelClient) Track(n int) error {
	var record log.Record
	record.SetEventName("checkout_completed")
	record.SetTimestamp(time.Now())
	record.SetSeverity(log.SeverityInfo)
	record.AddAttributes(attribute.String("plan", "pro"), attribute.Int("amount", 4999), attribute.String("currency", "EUR"), attribute.Float64("rate", 0.19))
	if n != 0 {
		record.AddAttributes(attribute.Int("n", n))
	}
	c.logger.Emit(context.Background(), record)
	return nil
}

func (c *otelClient) Flush(ctx context.Context) error { return c.provider.ForceFlush(ctx) }
func (c *otelClient) Complaints() int                 { return int(otelErrors.Load() - c.before) }
func (c *otelClient) Close(ctx context.Context) error { return c.provider.Shutdown(ctx) }

func decodeOTel(r *http.Request, body []byte) ([]int, error) {
	plain, err := decompress(r, body)
	if err != nil {
		return nil, err
	}
	var request logspb.ExportLogsServiceRequest
	if err := proto.Unmarshal(plain, &request); err != nil {
		return nil, err
	}
	var ns []int
	for _, resource := range request.GetResourceLogs() {
		for _, scope := range resource.GetScopeLogs() {
			for _, record := range scope.GetLogRecords() {
				n := 0
				for _, attribute := range record.GetAttributes() {
					if attribute.GetKey() == "n" {
						n = int(attribute.GetValue().GetIntValue())
					}
				}
				ns = append(ns, n)
			}
		}
	}
	return ns, nil
}

// answerOTel writes an empty ExportLogsServiceResponse, which accepts everything.
func answerOTel(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/x-protobuf")
	w.WriteHeader(http.StatusOK)
}
