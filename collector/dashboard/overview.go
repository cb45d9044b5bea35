package dashboard

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"strconv"

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

// Change returns the change since the time before in percent.
func (f figure) Change() string {
	switch {
	case f.Value == f.Before:
		return "no change"
	case f.Before == 0:
		return "none then"
	case f.percent() > 999:
		return "over 10 times as many"
	}
	return strconv.FormatFloat(f.percent(), 'f', 0, 64) + "% " + f.moreOrLess()
}

// Signed returns Change in few characters.
func (f figure) Signed() string {
	switch {
	case f.Value == f.Before:
		return "0%"
	case f.Before == 0:
		return "new"
	case f.Value < f.Before:
		return "−" + strconv.FormatFloat(f.percent(), 'f', 0, 64) + "%"
	case f.percent() > 999:
		return "> ×10"
	}
	return "+" + strconv.FormatFloat(f.percent(), 'f', 0, 64) + "%"
}

// percent returns by how many percent the value is above or below the one before.
func (f figure) percent() float64 {
	return math.Abs(100 * float64(f.Value-f.Before) / float64(f.Before))
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
	Chosen  choice

	Event     string // the most frequent event, if there are no pageviews
	EventLink string
	Props     []propTable // of Event

	Nothing bool // there is nothing in the range
	Empty   bool // the site never had an event
	Setup   snippets
}

func (o overview) shownTables() []table { return o.Tables }

func (b *board) overview(w http.ResponseWriter, r *http.Request, site account.Site) error {
	p, err := b.readScope(r, site)
	if err != nil {
		return err
	}
	data, err := b.report(r.Context(), site.ID, p, readChoice(r))
	if err != nil {
		return fmt.Errorf("overview of %s: %w", site.ID, err)
	}
	data.Setup = b.snippets(r, site)
	return b.show(w, r, p.status(), "overview", view{Title: site.Name, Tab: "overview", Site: site, Period: p, Data: data})
}

// report asks for the figures of the overview, in one pass over the events of the range, and in another one over the
// events of the compared time.
func (b *board) report(ctx context.Context, site string, p period, chosen choice) (overview, error) {
	questions := []store.Question{{}, {Step: p.Unit.Step()}}
	for _, d := range dimensions {
		questions = append(questions, d.question(shortTable))
	}
	answers, err := b.Store.Ask(ctx, p.query(site), questions...)
	if err != nil {
		return overview{}, err
	}
	now, points, rows := answers[0].Totals, p.local(answers[1].Points), answers[2:]
	then, err := b.earlier(ctx, site, p, dimensions, rows)
	if err != nil {
		return overview{}, err
	}
	line, err := b.earlierPoints(ctx, site, p)
	if err != nil {
		return overview{}, err
	}
	o := overview{Figures: figures(now, then.totals), Chosen: chosen, Chart: newChart(points, line, p)}
	if now == (store.Totals{}) {
		o.Nothing = true
		o.Empty, err = b.untouched(ctx, site)
		return o, err
	}
	o.Tables = tables(site, p, cards(site, p, now, chosen), rows, then)
	if now.Pageviews > 0 {
		return o, nil
	}
	o.Chart = newEventChart(points, line, p)
	most := o.Tables[0].Rows[0] // the names of events are the first table
	o.Event, o.EventLink = most.Text, most.Link
	o.Props, err = b.topProps(ctx, site, p, o.Event)
	return o, err
}

// figures returns the headlines. A site without pageviews has none about them.
func figures(now, before store.Totals) []figure {
	views := figure{"is-pageviews", "Pageviews", now.Pageviews, before.Pageviews}
	events := figure{"is-events", "Events", now.Events, before.Events}
	visitors := figure{"is-visitors", "Visitors", now.Visitors, before.Visitors}
	if now.Pageviews > 0 || now.Events == 0 {
		return []figure{visitors, views, events}
	}
	all := []figure{events}
	for _, f := range []figure{visitors, views} {
		if f.Value > 0 || f.Before > 0 {
			all = append(all, f)
		}
	}
	return all
}

// untouched reports whether the site never had an event.
func (b *board) untouched(ctx context.Context, site string) (bool, error) {
	latest, err := b.Store.Recent(ctx, store.Ever(site), 1)
	return len(latest) == 0, err
}
