package dashboard

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/footfall-dev/footfall/collector/store"
)

// choice has the slugs of the overview's tables that count events instead of pageviews.
type choice []string

// chosenTables is the parameter of the overview's URL that holds a choice.
const chosenTables = "events"

func readChoice(r *http.Request) (c choice) {
	chosen := strings.Split(r.URL.Query().Get(chosenTables), ",")
	for _, d := range dimensions {
		if _, both := d.twin(); both && d.Counts == store.Pageviews && slices.Contains(chosen, d.Slug) {
			c = append(c, d.Slug)
		}
	}
	return c
}

// with returns the choice with one more table that counts events, or one fewer.
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
	dimension dimension
	instead   *dimension // shown if there are no rows; may be nil
	link      tableSwitch
	optional  bool // not shown without rows
}

// cards returns the tables that can have rows.
func cards(site string, p period, now store.Totals, chosen choice) (all []card) {
	if now.Pageviews == 0 {
		return eventCards()
	}
	all = make([]card, 0, len(dimensions))
	for _, d := range dimensions {
		twin, both := d.twin()
		switch {
		case both && d.Counts == store.Events:
			continue // on the card of its twin
		case both && now.Events > 0:
			events := slices.Contains(chosen, d.Slug)
			c := card{dimension: d, instead: &twin, link: switchOn(site, p, chosen.with(d.Slug, !events), !events)}
			if events {
				c.dimension, c.instead = twin, nil
			}
			all = append(all, c)
		default:
			all = append(all, card{dimension: d, optional: d.Field == store.Browser || d.Field == store.Device || d.Field == store.Name && now.Events == 0})
		}
	}
	return all
}

// eventCards returns the tables of a range without pageviews: names of events, and then other
// figures of events.
func eventCards() (all []card) {
	for _, d := range dimensions {
		if d.Counts == store.Events {
			all = append(all, card{dimension: d, optional: true})
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

// tables returns the tables of cards, without those that need not be shown. answers are to the questions of dimensions.
func tables(site string, p period, of []card, answers []store.Answer, then earlier) (shown []table) {
	rows := make(map[store.Dimension]store.Answer)
	for i, answer := range answers {
		rows[dimensions[i].Dimension] = answer
	}
	for _, c := range of {
		t := c.table(site, p, rows)
		then.compare(&t)
		if len(t.Rows) > 0 || !c.optional {
			shown = append(shown, t)
		}
	}
	return shown
}

// table returns the table of the card, or the one that is shown instead.
func (c card) table(site string, p period, rows map[store.Dimension]store.Answer) table {
	of := c.dimension
	link := c.link
	if len(rows[of.Dimension].Rows) == 0 && c.instead != nil {
		link = tableSwitch{} // it would lead to an empty table
		if len(rows[c.instead.Dimension].Rows) > 0 {
			of = *c.instead
		}
	}
	t := newTable(of, p, site, rows[of.Dimension].Rows)
	t.More, t.Switch = rows[of.Dimension].More, link
	return t
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
	answers, err := b.Store.Ask(ctx, named(p.query(site), event), store.Question{By: store.Props, Limit: shortPropValues})
	if err != nil {
		return nil, err
	}
	all, _ := propTables(p, answers[0].Props)
	all = slices.DeleteFunc(all, func(t propTable) bool {
		return len(t.Rows) > 1 && (t.Rows[0].Count == 1 || t.Rest.Rest > 0 && rare*t.Rows[0].Count < t.events())
	})
	slices.SortStableFunc(all, func(a, b propTable) int { return a.Rest.Rest - b.Rest.Rest })
	return all[:min(len(all), shortProps)], nil
}
