package middleware

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/felixge/httpsnoop"
	"github.com/getsentry/sentry-go"
	sentryhttp "github.com/getsentry/sentry-go/http"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/bench/settler"
)

// wrappers returns all wrappers, and a function that ends them.
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
		most    cost
	}{
		{"Footfall, wrapper alone", true, nil, cost{120, 1}},
		{"Footfall, rule of another route", true, []footfall.Rule{other}, cost{}},
		{"Footfall, rule and event", true, []footfall.Rule{rule}, cost{400, 1}},
		{"Footfall, context value alone", false, nil, cost{}},
		{"Footfall, context value, rule and event", false, []footfall.Rule{rule}, cost{700, 4}},
	} {
		tracker, err := newTracker(f.noValue)
		if err != nil {
			return nil, end, err
		}
		ends = append(ends, func() { _ = tracker.Close(context.Background()) })
		w := wrapper{name: f.name, wrap: tracker.Middleware(f.rules...), most: f.most}
		if len(f.rules) > 0 && f.rules[0].Route == route {
			w.arrived = func() int64 { return int64(tracker.Stats().Delivered) }
		}
		all = append(all, w)
	}
	all = append(all, wrapper{name: "httpsnoop", setting: "CaptureMetrics, with its result discarded", wrap: snoop})
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
		SiteID: "site_1", Transport: &settler.Settler{}, NoContextValue: noValue, Logger: slog.New(slog.DiscardHandler),
		MaxQueueEvents: 1 << 20, MaxQueueBytes: 1 << 30,
	})
}

func snoop(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { httpsnoop.CaptureMetrics(next, w, r) })
}

// sentryWrapper binds its client to the global hub before each measurement, because sentry
// clones that hub for each request.
func sentryWrapper(name string, options sentry.ClientOptions) (wrapper, func(), error) {
	var server accepting
	options.Dsn, options.HTTPTransport = "http://key@127.0.0.1:9/1", &server
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
		client.Flush(5 * time.Second)
		client.Close()
	}
	w := wrapper{
		name: name, setting: setting, wrap: sentryhttp.New(sentryhttp.Options{}).Handle,
		before: func() { sentry.CurrentHub().BindClient(client) },
	}
	if options.EnableTracing {
		w.arrived = server.transactions.Load
	}
	return w, end, nil
}

// accepting answers 200 to all, and counts the transactions of sentry.
type accepting struct{ transactions atomic.Int64 }

func (a *accepting) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	a.transactions.Add(int64(bytes.Count(body, []byte("\n{\"type\":\"transaction\""))))
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("{}")), Request: r}, nil
}

func otelNoop() (wrapper, func(), error) {
	wrap := func(next http.Handler) http.Handler {
		return otelhttp.NewHandler(next, "shop", otelhttp.WithTracerProvider(noop.NewTracerProvider()))
	}
	return wrapper{name: "otelhttp, no provider", setting: "NewHandler without an SDK behind it", wrap: wrap}, func() {}, nil
}

func otelBatched() (wrapper, func(), error) {
	var exporter nowhere
	provider := trace.NewTracerProvider(trace.WithBatcher(&exporter))
	wrap := func(next http.Handler) http.Handler {
		return otelhttp.NewHandler(next, "shop", otelhttp.WithTracerProvider(provider))
	}
	end := func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = provider.Shutdown(ctx)
	}
	return wrapper{
		name: "otelhttp, spans batched", wrap: wrap, arrived: exporter.spans.Load,
		setting: "NewHandler with a TracerProvider and a batch span processor to an exporter that does nothing; no metrics",
	}, end, nil
}

// nowhere is an exporter that counts.
type nowhere struct{ spans atomic.Int64 }

func (n *nowhere) ExportSpans(_ context.Context, spans []trace.ReadOnlySpan) error {
	n.spans.Add(int64(len(spans)))
	return nil
}

func (*nowhere) Shutdown(context.Context) error { return nil }
