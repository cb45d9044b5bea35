// Package otelfootfall exports the Stats of a footfall.Tracker as metrics of OpenTelemetry.
//
//	unregister, err := otelfootfall.Register(tracker, provider)
//
// The instruments are asynchronous: the reader of the provider calls [footfall.Tracker.Stats]
// once for each collection, and Track does no additional work. All values of a
// collection belong to one snapshot, so tracked events equal the sum of processed, queued and
// stored ones.
//
//	footfall.event.tracked    {event}  Stats.Tracked
//	footfall.event.processed  {event}  Stats.Delivered, and with error.type "rejected" or "dropped" Stats.Rejected, Stats.Dropped
//	footfall.event.refused    {event}  with error.type "invalid" Stats.Invalid, with "not_accepted" Stats.Refused
//	footfall.event.filtered   {event}  Stats.Filtered
//	footfall.event.sanitized  {event}  Stats.Sanitized
//	footfall.value.redacted   {value}  Stats.Redacted
//	footfall.queue.size       {event}  Stats.Queued
//	footfall.queue.memory     By       Stats.QueuedBytes
//	footfall.store.size       {event}  Stats.Stored
//
// The last three are up-down counters. The others are counters from the start of the tracker.
//
// footfall.store.size only grows with package stream, because a program does not learn when a relay
// delivers its events.
package otelfootfall

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/footfall-dev/footfall"
)

// scope names the meter.
const scope = "github.com/footfall-dev/footfall/otelfootfall"

// Register observes t with instruments of provider, or of the global provider if provider is nil,
// until unregister is called. Several trackers of a process need different attributes, such as
// the name of the site. A nil or disabled tracker reports zeros.
//
// Counters keep their values after [footfall.Tracker.Close], so call unregister after the last
// collection.
func Register(t *footfall.Tracker, provider metric.MeterProvider, attributes ...attribute.KeyValue) (unregister func() error, err error) {
	if provider == nil {
		provider = otel.GetMeterProvider()
	}
	m := provider.Meter(scope)
	s, err := newInstruments(m, attributes)
	if err != nil {
		return nil, err
	}
	registration, err := m.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		s.observe(o, t.Stats())
		return nil
	}, s.all...)
	if err != nil {
		return nil, err
	}
	return registration.Unregister, nil
}

// instruments are the instruments of the package documentation, in the same order.
type instruments struct {
	tracked, processed, refused, filtered, sanitized, redacted metric.Int64ObservableCounter
	queued, memory, stored                                     metric.Int64ObservableUpDownCounter

	all []metric.Observable

	plain                                  metric.MeasurementOption // the attributes of the tracker
	rejected, dropped, invalid, notEntered metric.MeasurementOption // and an error.type
}

func newInstruments(m metric.Meter, attributes []attribute.KeyValue) (*instruments, error) {
	with := func(more ...attribute.KeyValue) metric.MeasurementOption {
		return metric.WithAttributeSet(attribute.NewSet(append(attributes[:len(attributes):len(attributes)], more...)...))
	}
	failed := func(kind string) metric.MeasurementOption { return with(attribute.String("error.type", kind)) }
	s := &instruments{
		plain: with(), rejected: failed("rejected"), dropped: failed("dropped"),
		invalid: failed("invalid"), notEntered: failed("not_accepted"),
	}
	var problems []error
	counter := func(into *metric.Int64ObservableCounter, name, unit, about string) {
		var err error
		*into, err = m.Int64ObservableCounter(name, metric.WithUnit(unit), metric.WithDescription(about))
		problems, s.all = append(problems, err), append(s.all, *into)
	}
	level := func(into *metric.Int64ObservableUpDownCounter, name, unit, about string) {
		var err error
		*into, err = m.Int64ObservableUpDownCounter(name, metric.WithUnit(unit), metric.WithDescription(about))
		problems, s.all = append(problems, err), append(s.all, *into)
	}
	counter(&s.tracked, "footfall.event.tracked", "{event}", "Events that the tracker accepted.")
	counter(&s.processed, "footfall.event.processed", "{event}", "Events that were delivered, or rejected by the API, or dropped.")
	counter(&s.refused, "footfall.event.refused", "{event}", "Events that the tracker did not accept.")
	counter(&s.filtered, "footfall.event.filtered", "{event}", "Events that the application dropped before they were queued.")
	counter(&s.sanitized, "footfall.event.sanitized", "{event}", "Events of requests of which something was not sent unchanged.")
	counter(&s.redacted, "footfall.value.redacted", "{value}", "Values that the personal-data guard replaced or left out.")
	level(&s.queued, "footfall.queue.size", "{event}", "Events that wait or are in flight.")
	level(&s.memory, "footfall.queue.memory", "By", "Encoded size of the events that wait or are in flight.")
	level(&s.stored, "footfall.store.size", "{event}", "Events that a spool keeps on disk now, or that a stream has taken since the start.")
	return s, errors.Join(problems...)
}

func (s *instruments) observe(o metric.Observer, stats footfall.Stats) {
	observe := func(instrument metric.Int64Observable, n uint64, option metric.MeasurementOption) {
		o.ObserveInt64(instrument, int64(n), option)
	}
	observe(s.tracked, stats.Tracked, s.plain)
	observe(s.processed, stats.Delivered, s.plain)
	observe(s.processed, stats.Rejected, s.rejected)
	observe(s.processed, stats.Dropped, s.dropped)
	observe(s.refused, stats.Invalid, s.invalid)
	observe(s.refused, stats.Refused, s.notEntered)
	observe(s.filtered, stats.Filtered, s.plain)
	observe(s.sanitized, stats.Sanitized, s.plain)
	observe(s.redacted, stats.Redacted, s.plain)
	observe(s.queued, stats.Queued, s.plain)
	observe(s.memory, stats.QueuedBytes, s.plain)
	observe(s.stored, stats.Stored, s.plain)
}
