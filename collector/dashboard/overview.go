package dashboard

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strconv"

	"golang.org/x/sync/errgroup"

	"github.com/footfall-dev/footfall/collector/account"
	"github.com/footfall-dev/footfall/collector/store"
)

// Rows of a table on the overview and on the table's page.
const (
	shortTable = 8
	longTable  = 500
)

// table holds the most frequent values of a dimension.
type table struct {
	*store.DimensionInfo
	Rows []tableRow
	More bool   // the table was cut
	All  string // path of the full table
}

// tableRow is a value with its counts.
type tableRow struct {
	Text     string
	Link     string // "" for none
	Count    int64
	Visitors int64
	Share    string // of the longest bar
	Direct   bool
}

func (b *board) table(ctx context.Context, site string, p period, d *store.DimensionInfo, limit int) (table, error) {
	rows, err := b.Store.Top(ctx, p.query(site), d.By, limit+1)
	if err != nil {
		return table{}, err
	}
	t := table{DimensionInfo: d, All: p.On("/sites/" + site + "/top/" + d.Slug)}
	if t.More = len(rows) > limit; t.More {
		rows = rows[:limit]
	}
	most := int64(0)
	for _, row := range rows {
		if row.Value != "" { // direct visits would dwarf all others
			most = max(most, row.Count)
		}
	}
	for _, row := range rows {
		r := tableRow{Text: row.Value, Count: row.Count, Visitors: row.Visitors, Share: share(row.Count, most)}
		switch {
		case d.By == store.Names:
			r.Link = p.OnEvent("/sites/"+site+"/events", row.Value)
		case row.Value == "":
			r.Text, r.Share, r.Direct = "Direct, or within the site", "0%", true
		}
		t.Rows = append(t.Rows, r)
	}
	return t, nil
}

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

// topPage shows one table in full.
func (b *board) topPage(w http.ResponseWriter, r *http.Request, site account.Site) error {
	for _, d := range store.Dimensions() {
		if d.Slug == r.PathValue("dimension") {
			return b.showTable(w, r, site, &d)
		}
	}
	return account.ErrNotFound
}

func (b *board) showTable(w http.ResponseWriter, r *http.Request, site account.Site, d *store.DimensionInfo) error {
	p := readPeriod(r, b.Now())
	t, err := b.table(r.Context(), site.ID, p, d, longTable)
	if err != nil {
		return err
	}
	return b.show(w, r, http.StatusOK, "top", view{
		Title: d.Title + " of " + site.Name, Tab: "overview", Site: site, Period: p, Data: t,
	})
}

// maxPropValues is how many values of each prop are shown for an event.
const maxPropValues = 20

// eventPage is the data of the page of one event.
type eventPage struct {
	Name   string
	Row    store.Row
	Props  []propTable
	Hidden store.PropRow // sum of the keys left out
	Back   string
}

// propTable holds the values of a key.
type propTable struct {
	Key  string
	Rows []tableRow
	Rest store.PropRow // sum of the values left out
}

// events shows the table of all events, or one event with its props.
func (b *board) events(w http.ResponseWriter, r *http.Request, site account.Site) error {
	name := r.URL.Query().Get("name")
	if name == "" {
		names, _ := store.Names.Info()
		return b.showTable(w, r, site, names)
	}
	p := readPeriod(r, b.Now())
	row, err := b.Store.Count(r.Context(), p.query(site.ID), store.Match{Event: name})
	if err != nil {
		return err
	}
	props, err := b.Store.Props(r.Context(), p.query(site.ID), name, maxPropValues)
	if err != nil {
		return err
	}
	page := eventPage{Name: name, Row: row, Back: p.On("/sites/" + site.ID + "/events")}
	page.Props, page.Hidden = propTables(props)
	return b.show(w, r, http.StatusOK, "event", view{
		Title: name, Tab: "overview", Site: site, Period: p, Data: page,
	})
}

// propTables groups rows, which are sorted by key. The last one may be the sum of hidden keys.
func propTables(rows []store.PropRow) (all []propTable, hidden store.PropRow) {
	most := int64(0)
	for _, row := range rows {
		if row.Key == "" && row.Rest > 0 {
			hidden = row
			continue
		}
		if len(all) == 0 || all[len(all)-1].Key != row.Key {
			all, most = append(all, propTable{Key: row.Key}), row.Count
		}
		last := &all[len(all)-1]
		if row.Rest > 0 {
			last.Rest = row
			continue
		}
		last.Rows = append(last.Rows, tableRow{
			Text: cmp.Or(row.Value, "(empty)"), Count: row.Count, Visitors: row.Visitors, Share: share(row.Count, most),
		})
	}
	return all, hidden
}
