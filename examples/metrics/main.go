// Metrics serves the counts of a tracker for Prometheus at /metrics, and as JSON of package
// expvar at /debug/vars. It listens on 127.0.0.1:8080, or on the address in LISTEN.
package main

import (
	"context"
	"expvar"
	"log"
	"net/http"
	"os"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/footfall-dev/footfall"
)

func main() {
	log.SetFlags(0)
	tracker, err := footfall.New(footfall.ConfigFromEnv())
	if err != nil {
		log.Fatal(err)
	}
	expvar.Publish("footfall", expvar.Func(func() any { return tracker.Stats() }))
	registry := prometheus.NewRegistry()
	registry.MustRegister(collector{tracker})

	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.Handle("GET /debug/vars", expvar.Handler())
	mux.HandleFunc("GET /{$}", func(http.ResponseWriter, *http.Request) {})
	listen := os.Getenv("LISTEN")
	if listen == "" {
		listen = "127.0.0.1:8080"
	}
	log.Printf("Prometheus: http://%s/metrics  expvar: http://%s/debug/vars", listen, listen)
	handler := tracker.Middleware(footfall.Rule{Route: "GET /{$}", Event: "home_viewed"})(mux)
	if err := tracker.Run(context.Background(), &http.Server{Addr: listen, Handler: handler}); err != nil {
		log.Fatal(err)
	}
}
