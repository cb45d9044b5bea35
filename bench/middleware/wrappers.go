package middleware

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/felixge/httpsnoop"
	"github.com/getsentry/sentry-go"
	sentryhttp "github.com/getsentry/sentry-go/http"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/footfall-dev/footfall"
)

// wrappers returns all of them, and what ends them.
func wrappers() (all []wrapper, end func(), err error) {
	var ends []func()
	end = func() {
		for _, f := range ends {
			f()
		}
	}
	rule := footfall.Rule{Route: route, Event: "order_viewed"}
	other := footfall.Rule{Route: "GET /pricing", Event: "pricing_viewed"}
	for _, f := range []struct {
		name    string
		noValue bool
		rules   []footfall.Rule
	}{
		{"Footfall, wrapper alone", true, nil},
		{"Footfall, rule of another route", true, []footfall.Rule{other}},
		{"Footfall, rule and event", true, []footfall.Rule{rule}},
		{"Footfall, context value alone", false, nil},
		{"Footfall, context value, rule and event", false, []footfall.Rule{rule}},
	} {
		tracker, err := newTracker(f.noValue)
		if err != nil {
			return nil, end, err
		}
		ends = append(ends, func() { _ = tracker.Close(context.Background()) })
		all = append(all, wrapper{name: f.name, wrap: tracker.Middleware(f.rules...)})
	}
	all = append(all, wrapper{name: "httpsnoop", setting: "CaptureMetrics, whose result is thrown away", wrap: snoop})
	for _, peer := range []func() (wrapper, func(), error){
		func() (wrapper, func(), error) { return sentryWrapper("sentryhttp", sentry.ClientOptions{}) },
		func() (wrapper, func(), error) {
			return sentryWrapper("sentryhttp, traced", sentry.ClientOptions{EnableTracing: true, TracesSampleRate: 1})
		},
		otelNoop, otelBatched,
	} {
		w, finish, err := peer()
		if err != nil {
			return nil, end, err
		}
		all, ends = append(all, w), append(ends, finish)
	}
	return all, end, nil
}

func newTracker(noValue bool) (*footfall.Tracker, error) {
	return footfall.New(footfall.Config{
		SiteID: "site_1", Transport: discard{}, NoContextValue: noValue, Logger: slog.New(slog.DiscardHandler),
		MaxQueueEvents: 1 << 20, MaxQueueBytes: 1 << 30,
	})
}

// discard settles what it takes.
type discard struct{}

func (discard) Deliver(ctx context.Context, src footfall.Source) {
	records := make([]footfall.Record, 100)
	for _, more := src.Wait(ctx); more; _, more = src.Wait(ctx) {
		for n := src.Take(records); n > 0; n = src.Take(records) {
			src.Settle(records[:n], footfall.Delivered, nil)
		}
	}
}

func snoop(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { httpsnoop.CaptureMetrics(next, w, r) })
}

// sentryWrapper clones the current hub for each request, which is global: the row's client
// is bound to it before each measurement.
func sentryWrapper(name string, options sentry.ClientOptions) (wrapper, func(), error) {
	options.Dsn, options.HTTPTransport = "http://key@127.0.0.1:9/1", accepting{}
	client, err := sentry.NewClient(options)
	if err != nil {
		return wrapper{}, nil, err
	}
	setting := "a client with a Dsn, EnableTracing off, a RoundTripper in the process"
	if options.EnableTracing {
		setting = "as sentryhttp with EnableTracing and a TracesSampleRate of 1"
	}
	end := func() {
		sentry.CurrentHub().BindClient(nil)
		client.Close()
	}
	return wrapper{
		name: name, setting: setting, wrap: sentryhttp.New(sentryhttp.Options{}).Handle,
		before: func() { sentry.CurrentHub().BindClient(client) },
	}, end, nil
}

// accepting answers 200 to all.
type accepting struct{}

func (accepting) RoundTrip(r *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, r.Body)
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("{}")), Request: r}, nil
}

func otelNoop() (wrapper, func(), error) {
	wrap := func(next http.Handler) http.Handler {
		return otelhttp.NewHandler(next, "shop", otelhttp.WithTracerProvider(noop.NewTracerProvider()))
	}
	return wrapper{name: "otelhttp, no provider", setting: "NewHandler without an SDK behind it", wrap: wrap}, func() {}, nil
}

func otelBatched() (wrapper, func(), error) {
	provider := trace.NewTracerProvider(trace.WithBatcher(nowhere{}))
	wrap := func(next http.Handler) http.Handler {
		return otelhttp.NewHandler(next, "shop", otelhttp.WithTracerProvider(provider))
	}
	end := func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = provider.Shutdown(ctx)
	}
	return wrapper{
		name: "otelhttp, spans batched", wrap: wrap,
		setting: "NewHandler with a TracerProvider and a batch span processor to an exporter that does nothing; no metrics",
	}, end, nil
}

// nowhere is an exporter that does nothing.
type nowhere struct{}

func (nowhere) ExportSpans(context.Context, []trace.ReadOnlySpan) error { return nil }
func (nowhere) Shutdown(context.Context) error                          { return nil }
