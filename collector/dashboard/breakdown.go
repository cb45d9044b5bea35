package dashboard

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/footfall-dev/footfall/collector/store"
)

// breakdownTime is how long the page of an event waits for its breakdown, for which a store reads all events of the range.
const breakdownTime = 5 * time.Second

// originFields are divided by source, campaign and medium on the page of an event.
var originFields = []store.Dimension{store.EventSources, store.EventCampaigns, store.EventMediums}

// breakdown adds the tables of sources, campaigns and mediums to the page of an event, and to all tables the sums of
// the number that chosen names, or else of the most frequent one.
func (b *board) breakdown(ctx context.Context, p period, q store.Query, page *eventPage, chosen string) error {
	var number store.Number
	for i, n := range page.Numbers {
		if i == 0 || n.Key == chosen {
			number = n
		}
	}
	questions := breakdownQuestions(page, number.Key)
	bounded, cancel := context.WithTimeout(ctx, breakdownTime)
	defer cancel()
	answers, err := b.Store.Ask(bounded, q, questions...)
	if errors.Is(err, store.ErrTooLarge) || bounded.Err() != nil && ctx.Err() == nil {
		page.TooMany = true
		return nil
	}
	if err != nil {
		return err
	}
	page.Number = number
	for i, of := range originFields {
		if rows := answers[i].Rows; len(rows) > 0 {
			page.Origins = append(page.Origins, page.origins(p, of, rows))
		}
	}
	if number.Key != "" {
		page.sumProps(answers[len(originFields):])
	}
	return nil
}

// breakdownQuestions asks for the origins. If there is a number to add up, it also asks for the values of props on the page.
func breakdownQuestions(page *eventPage, number string) (all []store.Question) {
	for _, of := range originFields {
		all = append(all, store.Question{Counts: of.Counts, By: of.Field, Number: number, Limit: maxPropValues})
	}
	if number == "" {
		return all
	}
	for _, t := range page.Props {
		q := store.Question{By: store.PropOf, Key: t.Key, Number: number, Limit: maxPropValues}
		for _, row := range t.Rows {
			q.Values = append(q.Values, row.value)
		}
		all = append(all, q)
	}
	return all
}

// sumProps adds the sums to the tables of props.
func (p *eventPage) sumProps(answers []store.Answer) {
	for i := range p.Props {
		t := &p.Props[i]
		for _, sum := range answers[i].Rows {
			for j := range t.Rows {
				if t.Rows[j].value == sum.Value {
					t.Rows[j].Sum = sum.Sum
				}
			}
		}
		if t.Key != p.Number.Key { // the sums of a number by its own values say nothing
			t.Number = p.Number.Key
		}
	}
}

// origins returns the table of a dimension. Its last row has the events that are in no other.
func (p *eventPage) origins(of period, by store.Dimension, rows []store.Row) propTable {
	d := dimensionOf(store.Dimension{Field: by.Field, Counts: store.Pageviews}) // whose title is short
	t := propTable{Key: d.Title, What: d.What, Number: p.Number.Key}
	rest := tableRow{Text: "None", Direct: true, Share: "0%"}
	if len(rows) == maxPropValues {
		rest.Text = "Others, and none"
	}
	rest.Count, rest.Sum = p.Row.Count, p.Number.Sum
	most := slices.MaxFunc(rows, func(a, b store.Row) int { return int(a.Count - b.Count) }).Count
	for _, row := range rows {
		t.Rows = append(t.Rows, tableRow{Text: row.Value, Count: row.Count, Sum: row.Sum, Share: share(row.Count, most),
			Only: of.only(by.Field, "", row.Value), Not: of.not(by.Field, "", row.Value)})
		rest.Count -= row.Count
		rest.Sum -= row.Sum
	}
	if rest.Count > 0 { // the events were counted before; later ones may be in rows
		t.Rows = append(t.Rows, rest)
	}
	return t
}
