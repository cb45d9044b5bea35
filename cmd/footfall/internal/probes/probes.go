// Package probes serves the metrics and the probes of a relay, and asks the API before it starts.
package probes

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/footfall-dev/footfall/cmd/footfall/internal/shell"
	"github.com/footfall-dev/footfall/stream"
)

// Probes reports the state of a relay, from before the relay connects to NATS until it has stopped.
type Probes struct {
	apiCheck
	relay atomic.Pointer[stream.Relay] // nil until it is made
}

// New returns the probes of a relay that runs until ctx ends.
func New(ctx context.Context, log *slog.Logger) *Probes {
	return &Probes{apiCheck: apiCheck{ctx: ctx, log: log}}
}

// Started adds the relay.
func (p *Probes) Started(relay *stream.Relay) { p.relay.Store(relay) }

// stopTime bounds the shutdown of the listener.
const stopTime = time.Second

// Serve listens. Call stop to end it.
func (p *Probes) Serve(address string) (at net.Addr, stop func(), err error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, nil, fmt.Errorf("-metrics or FOOTFALL_METRICS: %w: choose another address", err)
	}
	server := &http.Server{
		Handler:           p.handler(),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       5 * time.Second,
		WriteTimeout:      30 * time.Second,
		MaxHeaderBytes:    32 << 10,
		ErrorLog:          slog.NewLogLogger(p.log.Handler(), slog.LevelWarn),
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			p.log.Error("the listener of metrics and probes has failed", "error", err)
		}
	}()
	return listener.Addr(), func() {
		ctx, cancel := context.WithTimeout(context.Background(), stopTime)
		defer cancel()
		if server.Shutdown(ctx) != nil {
			_ = server.Close() // a scrape may be cut
		}
		<-ended
	}, nil
}

func (p *Probes) handler() http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(scrape{p}, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4}))
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := p.ready(); err != nil {
			http.Error(w, "not ready: "+err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	return mux
}

// ready returns nil if the relay takes events from the stream and the API accepts them.
func (p *Probes) ready() error {
	relay := p.relay.Load()
	switch {
	case p.ctx.Err() != nil:
		return errors.New("the relay stops")
	case relay == nil:
		return errors.New("the relay starts")
	}
	if err := relay.Ready(); err != nil {
		return err
	}
	if err := p.failure.Load(); err != nil && relay.Stats().Delivered == 0 {
		return fmt.Errorf("the API has not answered yet: %w", *err)
	}
	if o, out := relay.Outage(); out {
		return fmt.Errorf("the API has not accepted events for %v: %w", time.Since(o.Since).Round(time.Second), o.Err)
	}
	return nil
}

// scrape reads the figures of a relay at each scrape.
type scrape struct{ *Probes }

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("footfall_relay_"+name, help, labels, nil)
}

var (
	eventsDesc      = describe("events_total", "Events that this relay delivered, moved to the stream of rejected events, or handed back to the stream.", "outcome")
	takenDesc       = describe("taken_total", "Deliveries of NATS to this relay.")
	redeliveredDesc = describe("redelivered_total", "Deliveries of NATS to this relay that were not the first of their event.")
	repeatedDesc    = describe("repeated_total", "Redeliveries of events that this relay still held. taken_total is the sum of these, of events_total and of held_events.")
	heldDesc        = describe("held_events", "Events that this relay holds.")
	breakerDesc     = describe("breaker_open", "1 while the circuit breaker is open because the API accepts no events, otherwise 0.")
	readyDesc       = describe("ready", "1 if /readyz answers 200, otherwise 0.")
	lagDesc         = describe("lag_events", "Events in the stream, including those that relays hold. The same from each relay; absent while the relay cannot reach the stream.")
	ageDesc         = describe("lag_seconds", "Age of the oldest event in the stream, 0 if there is none. The same from each relay; absent while the relay cannot reach the stream.")
	expiredDesc     = describe("stream_expired_events", "Events that the stream has removed before a relay had taken them, until a relay takes a later one. The same from each relay; absent while the relay cannot reach the stream.")
	rejectedDesc    = describe("rejected_stored_events", "Events in the stream of rejected events. The same from each relay; absent while the relay cannot reach the stream.")
	bytesDesc       = describe("stream_bytes", "Bytes of the stream. The same from each relay; absent while the relay cannot reach the stream.")
	maxBytesDesc    = describe("stream_max_bytes", "Bytes above which the stream refuses events. The same from each relay; absent if there is no bound, and while the relay cannot reach the stream.")
	maxAgeDesc      = describe("stream_max_age_seconds", "Age at which the stream removes events unsent. The same from each relay; absent if there is no bound, and while the relay cannot reach the stream.")
	refusedDesc     = describe("rejected_stored_bytes", "Bytes of the stream of rejected events. The same from each relay; absent while the relay cannot reach the stream.")
	maxRefusedDesc  = describe("rejected_max_bytes", "Bytes above which the stream of rejected events removes its oldest ones. The same from each relay; absent if there is no bound, and while the relay cannot reach the stream.")
	buildDesc       = prometheus.NewDesc("footfall_build_info", "Always 1, with the version of the program as a label.", []string{"version"}, nil)
)

// Describe implements prometheus.Collector.
func (s scrape) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{eventsDesc, takenDesc, redeliveredDesc, repeatedDesc, heldDesc, breakerDesc, readyDesc, lagDesc, ageDesc, expiredDesc, rejectedDesc, bytesDesc, maxBytesDesc, maxAgeDesc, refusedDesc, maxRefusedDesc, buildDesc} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (s scrape) Collect(to chan<- prometheus.Metric) {
	send := func(d *prometheus.Desc, kind prometheus.ValueType, n float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, kind, n, labels...)
	}
	gauge := func(d *prometheus.Desc, n float64) { send(d, prometheus.GaugeValue, n) }
	send(buildDesc, prometheus.GaugeValue, 1, shell.Version())
	gauge(readyDesc, number(s.ready() == nil))
	relay := s.relay.Load()
	if relay == nil {
		return
	}
	stats := relay.Stats()
	for outcome, n := range map[string]uint64{"delivered": stats.Delivered, "rejected": stats.Rejected, "handed_back": stats.HandedBack} {
		send(eventsDesc, prometheus.CounterValue, float64(n), outcome)
	}
	send(takenDesc, prometheus.CounterValue, float64(stats.Taken))
	send(redeliveredDesc, prometheus.CounterValue, float64(stats.Redelivered))
	send(repeatedDesc, prometheus.CounterValue, float64(stats.Repeated))
	gauge(heldDesc, float64(stats.Held))
	_, out := relay.Outage()
	gauge(breakerDesc, number(out))
	if relay.Ready() != nil { // Lag would wait for its timeout
		return
	}
	lag, err := relay.Lag(s.ctx)
	if err != nil { // NATS has gone just now
		return
	}
	gauge(lagDesc, float64(lag.Events))
	gauge(ageDesc, lag.Oldest.Seconds())
	gauge(expiredDesc, float64(lag.Expired))
	gauge(rejectedDesc, float64(lag.Rejected))
	gauge(bytesDesc, float64(lag.Bytes))
	gauge(refusedDesc, float64(lag.RejectedBytes))
	for desc, bound := range map[*prometheus.Desc]float64{maxBytesDesc: float64(lag.MaxBytes), maxAgeDesc: lag.MaxAge.Seconds(), maxRefusedDesc: float64(lag.RejectedMaxBytes)} {
		if bound > 0 {
			gauge(desc, bound)
		}
	}
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
