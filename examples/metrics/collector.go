package main

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/footfall-dev/footfall"
)

// collector gives Prometheus one snapshot of Stats for each scrape.
// Names begin with footfall_tracker, because the metrics of relays and of the collector mean other things.
type collector struct{ tracker *footfall.Tracker }

var (
	events = prometheus.NewDesc("footfall_tracker_events_total", "Events by outcome.", []string{"outcome"}, nil)
	values = prometheus.NewDesc("footfall_tracker_redacted_values_total", "Values that the personal-data guard replaced.", nil, nil)
	queue  = prometheus.NewDesc("footfall_tracker_queue_events", "Events that wait or are in flight.", nil, nil)
	memory = prometheus.NewDesc("footfall_tracker_queue_bytes", "Encoded size of the events that wait or are in flight.", nil, nil)
	stored = prometheus.NewDesc("footfall_tracker_stored_events", "Events that a spool keeps on disk now, or that a stream has taken since the start.", nil, nil)
)

func (collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{events, values, queue, memory, stored} {
		to <- d
	}
}

func (c collector) Collect(to chan<- prometheus.Metric) {
	s := c.tracker.Stats()
	send := func(d *prometheus.Desc, kind prometheus.ValueType, n uint64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, kind, float64(n), labels...)
	}
	send(events, prometheus.CounterValue, s.Delivered, "delivered")
	send(events, prometheus.CounterValue, s.Rejected, "rejected")
	send(events, prometheus.CounterValue, s.Dropped, "dropped")
	send(events, prometheus.CounterValue, s.Invalid, "invalid")
	send(events, prometheus.CounterValue, s.Refused, "refused")
	send(events, prometheus.CounterValue, s.Filtered, "filtered")
	send(values, prometheus.CounterValue, s.Redacted)
	send(queue, prometheus.GaugeValue, s.Queued)
	send(memory, prometheus.GaugeValue, s.QueuedBytes)
	send(stored, prometheus.GaugeValue, s.Stored)
}
