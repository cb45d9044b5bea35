// Package metrics exports the figures of a running collector in the format of Prometheus.
package metrics

import (
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/footfall-dev/footfall/collector"
)

// Metrics has the metrics of one collector. It is safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry
	commits  prometheus.Histogram
	batches  prometheus.Histogram
	reports  *prometheus.HistogramVec
	answers  *prometheus.HistogramVec
}

// New returns Metrics of a collector whose database is file.
func New(file, version string) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		commits: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "footfall_commit_duration_seconds",
			Help:    "Time of a transaction that adds events, including its sync to disk.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 2, 14), // to 4 s
		}),
		batches: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "footfall_commit_events",
			Help:    "Events in a transaction.",
			Buckets: prometheus.ExponentialBuckets(1, 4, 7), // to 4,096, the most
		}),
		reports: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "footfall_report_duration_seconds",
			Help:    "Time of a report of the dashboard, by the method of the store.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 15), // to 16 s
		}, []string{"report"}),
		answers: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "footfall_answer_duration_seconds",
			Help:    "Time of an answer of the API and to browsers, by endpoint and status.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 14), // to 8 s
		}, []string{"endpoint", "status"}),
	}
	build := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "footfall_build_info", Help: "Always 1, with the version of the program as a label.",
		ConstLabels: prometheus.Labels{"version": version},
	}, func() float64 { return 1 })
	m.registry.MustRegister(m.commits, m.batches, m.reports, m.answers, build, storeSize(file),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	for endpoint, status := range map[string]string{"events": "202", "sites": "200", "browser": "202"} {
		m.answers.WithLabelValues(endpoint, status)
	}
	for _, name := range reportNames {
		m.reports.WithLabelValues(name)
	}
	return m
}

// Watch adds the figures of c. Call it once.
func (m *Metrics) Watch(c *collector.Collector) { m.registry.MustRegister(watched{c}) }

// ObserveCommit is for Config.OnCommit of package sqlite.
func (m *Metrics) ObserveCommit(events int, took time.Duration) {
	m.commits.Observe(took.Seconds())
	m.batches.Observe(float64(events))
}

// ObserveAnswer is for Config.OnAnswer of package collector.
func (m *Metrics) ObserveAnswer(endpoint string, status int, took time.Duration) {
	m.answers.WithLabelValues(endpoint, strconv.Itoa(status)).Observe(took.Seconds())
}

// Handler serves /metrics.
func (m *Metrics) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}))
	return mux
}

// watched reads the figures of a collector at each scrape.
type watched struct{ of *collector.Collector }

var (
	eventsDesc  = prometheus.NewDesc("footfall_events_total", "Events that were sent, by source and outcome.", []string{"source", "outcome"}, nil)
	pendingDesc = prometheus.NewDesc("footfall_pending_events", "Events that wait for their commit.", nil, nil)
)

// Describe implements prometheus.Collector.
func (w watched) Describe(to chan<- *prometheus.Desc) {
	to <- eventsDesc
	to <- pendingDesc
}

// Collect implements prometheus.Collector.
func (w watched) Collect(to chan<- prometheus.Metric) {
	s := w.of.Stats()
	for source, counts := range map[string]map[string]int64{"api": s.API, "browser": s.Browser} {
		for outcome, n := range counts {
			to <- prometheus.MustNewConstMetric(eventsDesc, prometheus.CounterValue, float64(n), source, outcome)
		}
	}
	to <- prometheus.MustNewConstMetric(pendingDesc, prometheus.GaugeValue, float64(s.Pending))
}

// storeSize reads the sizes of the database and of its write-ahead log at each scrape.
func storeSize(file string) prometheus.Collector {
	size := func(label, file string) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "footfall_store_size_bytes", Help: "Size of the database and of its write-ahead log on disk.",
			ConstLabels: prometheus.Labels{"file": label},
		}, func() float64 { return float64(sizeOf(file)) })
	}
	return both{size("database", file), size("log", file+"-wal")}
}

// both is two collectors.
type both [2]prometheus.Collector

// Describe implements prometheus.Collector.
func (b both) Describe(to chan<- *prometheus.Desc) {
	b[0].Describe(to)
	b[1].Describe(to)
}

// Collect implements prometheus.Collector.
func (b both) Collect(to chan<- prometheus.Metric) {
	b[0].Collect(to)
	b[1].Collect(to)
}

// sizeOf returns 0 for a file that does not exist.
func sizeOf(file string) int64 {
	info, err := os.Stat(file)
	if err != nil {
		return 0
	}
	return info.Size()
}
