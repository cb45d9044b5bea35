package metrics

import (
	"context"
	"time"

	"github.com/footfall-dev/footfall/collector/sqlite"
	"github.com/footfall-dev/footfall/collector/store"
)

// reportNames are the values of the label "report".
var reportNames = []string{"totals", "series", "top", "props", "count", "funnel", "recent", "export", "eachprop", "seriesof", "pagesof", "breakdown"}

// timed is a store that measures its reports. It has all methods of a *sqlite.Store, because the
// collector uses more methods than store.Store has.
type timed struct {
	*sqlite.Store
	m *Metrics
}

var (
	_ store.Store      = timed{}
	_ store.Inspector  = timed{}
	_ store.Backlogged = timed{}
	_ store.Bounded    = timed{}
)

// Store returns st with a measurement of each report, and adds the figures of st. Call it once.
func (m *Metrics) Store(st *sqlite.Store) store.Store {
	m.registry.MustRegister(stored{st})
	return timed{st, m}
}

// took observes the time of a report since began.
func (t timed) took(report string, began time.Time) {
	t.m.reports.WithLabelValues(report).Observe(time.Since(began).Seconds())
}

// Totals implements store.Store.
func (t timed) Totals(ctx context.Context, q store.Query) (store.Totals, error) {
	defer t.took("totals", time.Now())
	return t.Store.Totals(ctx, q)
}

// Series implements store.Store.
func (t timed) Series(ctx context.Context, q store.Query, step store.Step) ([]store.Point, error) {
	defer t.took("series", time.Now())
	return t.Store.Series(ctx, q, step)
}

// Top implements store.Store.
func (t timed) Top(ctx context.Context, q store.Query, by store.Dimension, limit int) ([]store.Row, error) {
	defer t.took("top", time.Now())
	return t.Store.Top(ctx, q, by, limit)
}

// Props implements store.Store.
func (t timed) Props(ctx context.Context, q store.Query, event string, limit int) (store.PropReport, error) {
	defer t.took("props", time.Now())
	return t.Store.Props(ctx, q, event, limit)
}

// Count implements store.Store.
func (t timed) Count(ctx context.Context, q store.Query, m store.Match) (store.Row, error) {
	defer t.took("count", time.Now())
	return t.Store.Count(ctx, q, m)
}

// Funnel implements store.Store.
func (t timed) Funnel(ctx context.Context, q store.Query, steps []store.Match) (store.Funnel, error) {
	defer t.took("funnel", time.Now())
	return t.Store.Funnel(ctx, q, steps)
}

// Recent implements store.Store.
func (t timed) Recent(ctx context.Context, q store.Query, limit int) ([]store.Event, error) {
	defer t.took("recent", time.Now())
	return t.Store.Recent(ctx, q, limit)
}

// Export implements store.Store.
func (t timed) Export(ctx context.Context, q store.Query, each func(store.Event) error) error {
	defer t.took("export", time.Now())
	return t.Store.Export(ctx, q, each)
}

// EachProp implements store.Store.
func (t timed) EachProp(ctx context.Context, q store.Query, each func(name string, visitor bool, p store.Prop)) error {
	defer t.took("eachprop", time.Now())
	return t.Store.EachProp(ctx, q, each)
}

// SeriesOf implements store.Store.
func (t timed) SeriesOf(ctx context.Context, q store.Query, event string, step store.Step) ([]store.Point, error) {
	defer t.took("seriesof", time.Now())
	return t.Store.SeriesOf(ctx, q, event, step)
}

// PagesOf implements store.Store.
func (t timed) PagesOf(ctx context.Context, q store.Query, event string, limit int) ([]store.Row, error) {
	defer t.took("pagesof", time.Now())
	return t.Store.PagesOf(ctx, q, event, limit)
}

// Breakdown implements store.Store.
func (t timed) Breakdown(ctx context.Context, q store.Query, event, number string, props []store.Prop, limit int) (store.Breakdown, error) {
	defer t.took("breakdown", time.Now())
	return t.Store.Breakdown(ctx, q, event, number, props, limit)
}
