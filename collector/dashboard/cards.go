package dashboard

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/footfall-dev/footfall/collector/store"
)

// choice has the slugs of the overview's tables that count events instead of pageviews.
type choice []string

// chosenTables is the parameter of the overview's URL that holds a choice.
const chosenTables = "events"

func readChoice(r *http.Request) (c choice) {
	chosen := strings.Split(r.URL.Query().Get(chosenTables), ",")
	for _, d := range store.Dimensions() {
		if _, both := d.Twin(); both && d.Counts == store.Pageviews && slices.Contains(chosen, d.Slug) {
			c = append(c, d.Slug)
		}
	}
	return c
}

// with returns the choice in which one more table counts events, or one fewer.
func (c choice) with(slug string, events bool) choice {
	changed := slices.DeleteFunc(slices.Clone(c), func(chosen string) bool { return chosen == slug })
	if events {
		changed = append(changed, slug)
	}
	return changed
}

func (c choice) String() string { return strings.Join(c, ",") }

// card is a table of the overview before its rows are known.
type card struct {
	dimension *store.DimensionInfo
	instead   *store.DimensionInfo // shown if there are no rows; may be nil
	link      tableSwitch
	optional  bool // not shown without rows
}

// cards returns the tables that can have rows.
func cards(site string, p period, now store.Totals, chosen choice) (all []card) {
	if now.Pageviews == 0 {
		return eventCards()
	}
	all = make([]card, 0, len(store.Dimensions()))
	for _, d := range store.Dimensions() {
		twin, both := d.Twin()
		switch {
		case both && d.Counts == store.Events:
			continue // on the card of its twin
		case both && now.Events > 0:
			events := slices.Contains(chosen, d.Slug)
			c := card{dimension: &d, instead: twin, link: switchOn(site, p, chosen.with(d.Slug, !events), !events)}
			if events {
				c.dimension, c.instead = twin, nil
			}
			all = append(all, c)
		default:
			all = append(all, card{dimension: &d, optional: d.By == store.Browsers || d.By == store.Devices || d.By == store.Names && now.Events == 0})
		}
	}
	return all
}

// eventCards returns the tables of a range without pageviews: names of events, and then other
// figures of events.
func eventCards() (all []card) {
	for _, d := range store.Dimensions() {
		if d.Counts == store.Events {
			all = append(all, card{dimension: &d, optional: true})
		}
	}
	return all
}

// switchOn links to the overview with another choice.
func switchOn(site string, p period, to choice, events bool) tableSwitch {
	v := p.values()
	if len(to) > 0 {
		v.Set(chosenTables, to.String())
	}
	link := tableSwitch{To: "/sites/" + site + "?" + v.Encode(), Counts: store.Pageviews}
	if events {
		link.Counts = store.Events
	}
	return link
}

// tables requests the rows of all cards concurrently, and leaves out those that need not be shown.
func (b *board) tables(ctx context.Context, site string, p period, of []card) ([]table, error) {
	all := make([]table, len(of))
	ask, ctx := errgroup.WithContext(ctx)
	for i, c := range of {
		ask.Go(func() (err error) { all[i], err = b.cardTable(ctx, site, p, c); return err })
	}
	if err := ask.Wait(); err != nil {
		return nil, err
	}
	shown := all[:0]
	for i, t := range all {
		if len(t.Rows) > 0 || !of[i].optional {
			shown = append(shown, t)
		}
	}
	return shown, nil
}

func (b *board) cardTable(ctx context.Context, site string, p period, c card) (table, error) {
	t, err := b.table(ctx, site, p, c.dimension, shortTable)
	t.Switch = c.link
	if err != nil || len(t.Rows) > 0 || c.instead == nil {
		return t, err
	}
	instead, err := b.table(ctx, site, p, c.instead, shortTable)
	if err != nil || len(instead.Rows) == 0 {
		t.Switch = tableSwitch{} // it would lead to an empty table
		return t, err
	}
	return instead, nil
}

// Bounds of the props on the overview of a site without pageviews.
const (
	shortProps      = 4 // tables
	shortPropValues = 6

	rare = 20 // one in this many events
)

// topProps returns the props of the most frequent event: first those with few values. A prop with
// so many values that the first one is rare, such as the number of an order, is not useful here.
func (b *board) topProps(ctx context.Context, site string, p period, event string) ([]propTable, error) {
	report, err := b.Store.Props(ctx, p.query(site), event, shortPropValues)
	if err != nil {
		return nil, err
	}
	all, _ := propTables(report.Rows)
	all = slices.DeleteFunc(all, func(t propTable) bool {
		return len(t.Rows) > 1 && (t.Rows[0].Count == 1 || t.Rest.Rest > 0 && rare*t.Rows[0].Count < t.events())
	})
	slices.SortStableFunc(all, func(a, b propTable) int { return a.Rest.Rest - b.Rest.Rest })
	return all[:min(len(all), shortProps)], nil
}
