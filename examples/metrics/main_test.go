package main

import (
	"context"
	"encoding/json"
	"expvar"
	"io"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
)

// scrape asks the handler of a registry with a collector, as Prometheus does.
func scrape(t *testing.T, c prometheus.Collector) string {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	if err := registry.Register(c); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	defer server.Close()
	response, err := server.Client().Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestAScrapeHasTheCountsOfTheTracker(t *testing.T) {
	api := footfalltest.NewAPI(t)
	cfg := api.Config()
	cfg.OnRejected = func(*footfall.RejectedError) {}
	tracker, err := footfall.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tracker.Close(context.Background()) }()
	api.Next(footfalltest.Status(400))
	_ = tracker.Track(t.Context(), "rejected")
	_ = tracker.Flush(t.Context())
	_ = tracker.Track(t.Context(), "delivered", footfall.P("ip", "192.0.2.1"))
	_ = tracker.Track(t.Context(), "") // invalid
	if err := tracker.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	text := scrape(t, collector{tracker})
	for _, line := range []string{
		`footfall_tracker_events_total{outcome="delivered"} 1`, `footfall_tracker_events_total{outcome="rejected"} 1`,
		`footfall_tracker_events_total{outcome="dropped"} 0`, `footfall_tracker_events_total{outcome="invalid"} 1`,
		`footfall_tracker_events_total{outcome="refused"} 0`, `footfall_tracker_events_total{outcome="filtered"} 0`, `footfall_tracker_redacted_values_total 1`,
		`footfall_tracker_queue_events 0`, `footfall_tracker_queue_bytes 0`, `footfall_tracker_stored_events 0`,
		`# HELP footfall_tracker_queue_bytes Encoded size of the events that wait or are in flight.`,
		`# TYPE footfall_tracker_events_total counter`, `# TYPE footfall_tracker_queue_events gauge`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("no line %s in:\n%s", line, text)
		}
	}
	for line := range strings.Lines(text) { // the collector and relays have footfall_events_total and footfall_relay_events_total
		if strings.HasPrefix(line, "footfall_") && !strings.HasPrefix(line, "footfall_tracker_") {
			t.Errorf("a tracker's metric with the name of another program: %s", line)
		}
	}
	problems, err := testutil.CollectAndLint(collector{tracker})
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}

	var vars map[string]uint64
	if err := json.Unmarshal([]byte(expvar.Func(func() any { return tracker.Stats() }).String()), &vars); err != nil || vars["Delivered"] != 1 {
		t.Errorf("expvar: %v, %v", vars, err)
	}
}

// docs/tools.md shows lines of the program.
func TestDocsShowTheProgram(t *testing.T) {
	page, err := os.ReadFile("../../docs/tools.md")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		`expvar.Publish("footfall", expvar.Func(func() any { return tracker.Stats() }))`,
		"registry.MustRegister(collector{tracker})",
		`mux.Handle("GET /debug/vars", expvar.Handler())`,
	} {
		if !strings.Contains(string(page), line) || !strings.Contains(string(program), line) {
			t.Errorf("docs/tools.md or main.go lacks %s", line)
		}
	}
}
