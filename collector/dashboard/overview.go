package dashboard

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"golang.org/x/sync/errgroup"

	"github.com/footfall-dev/footfall/collector/account"
	"github.com/footfall-dev/footfall/collector/store"
)

// figure is a headline of the overview.
type figure struct {
	Class  string
	Label  string
	Value  int64
	Before int64
}

// Change returns the change since the previous period in percent.
func (f figure) Change() string {
	switch {
	case f.Value == f.Before:
		return "no change"
	case f.Before == 0:
		return "none before"
	}
	change := 100 * float64(f.Value-f.Before) / float64(f.Before)
	if change > 999 {
		return "over 10 times as many"
	}
	return strconv.FormatFloat(max(change, -change), 'f', 0, 64) + "% " + f.moreOrLess()
}

func (f figure) moreOrLess() string {
	if f.Value > f.Before {
		return "more"
	}
	return "fewer"
}

// Up and Down report the direction of the change.
func (f figure) Up() bool   { return f.Value > f.Before && f.Before > 0 }
func (f figure) Down() bool { return f.Value < f.Before }

// overview is the data of a site's main page.
type overview struct {
	Figures []figure
	Chart   chart
	Tables  []table
	Empty   bool // the site never had an event
	Setup   snippets
}

func (b *board) overview(w http.ResponseWriter, r *http.Request, site account.Site) error {
	p := readPeriod(r, b.Now())
	status := http.StatusOK
	if p.Problem != "" {
		status = http.StatusUnprocessableEntity
	}
	data, err := b.report(r.Context(), site.ID, p)
	if err != nil {
		return fmt.Errorf("overview of %s: %w", site.ID, err)
	}
	data.Setup = b.snippets(r, site)
	return b.show(w, r, status, "overview", view{Title: site.Name, Tab: "overview", Site: site, Period: p, Data: data})
}

// report runs all queries concurrently.
func (b *board) report(ctx context.Context, site string, p period) (overview, error) {
	dimensions := store.Dimensions()
	o := overview{Tables: make([]table, len(dimensions))}
	var now, before store.Totals
	var points []store.Point
	ask, all := errgroup.WithContext(ctx)
	ask.Go(func() (err error) { now, err = b.Store.Totals(all, p.query(site)); return err })
	ask.Go(func() (err error) { before, err = b.Store.Totals(all, p.before(site)); return err })
	ask.Go(func() (err error) { points, err = b.Store.Series(all, p.query(site), p.step()); return err })
	for i := range dimensions {
		ask.Go(func() (err error) { o.Tables[i], err = b.table(all, site, p, &dimensions[i], shortTable); return err })
	}
	if err := ask.Wait(); err != nil {
		return o, err
	}
	o.Figures = []figure{
		{"is-visitors", "Visitors", now.Visitors, before.Visitors},
		{"is-pageviews", "Pageviews", now.Pageviews, before.Pageviews},
		{"is-events", "Events", now.Events, before.Events},
	}
	o.Chart = newChart(points, p.step())
	var err error
	if now == (store.Totals{}) {
		o.Empty, err = b.untouched(ctx, site)
	}
	return o, err
}

// untouched reports whether the site never had an event.
func (b *board) untouched(ctx context.Context, site string) (bool, error) {
	latest, err := b.Store.Recent(ctx, ever(site), 1)
	return len(latest) == 0, err
}
