package metrics

import (
	"context"
	"time"

	"github.com/footfall-dev/footfall/collector/sqlite"
	"github.com/footfall-dev/footfall/collector/store"
)

// reportNames are the values of the label "report".
var reportNames = []string{"ask", "funnel", "recent", "export", "eachprop"}

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

// Ask implements store.Store.
func (t timed) Ask(ctx context.Context, q store.Query, questions ...store.Question) ([]store.Answer, error) {
	defer t.took("ask", time.Now())
	return t.Store.Ask(ctx, q, questions...)
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
