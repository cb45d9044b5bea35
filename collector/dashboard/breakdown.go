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

// breakdown adds the tables of sources, campaigns and mediums to the page of an event, and to all tables the sums of
// the number that chosen names, or else of the most frequent one.
func (b *board) breakdown(ctx context.Context, q store.Query, page *eventPage, chosen string) error {
	var number store.Number
	for i, n := range page.Numbers {
		if i == 0 || n.Key == chosen {
			number = n
		}
	}
	var values []store.Prop
	for _, t := range page.Props {
		for _, row := range t.Rows {
			values = append(values, store.Prop{Key: t.Key, Value: row.value})
		}
	}
	if number.Key == "" {
		values = nil // there is nothing to add up
	}
	bounded, cancel := context.WithTimeout(ctx, breakdownTime)
	defer cancel()
	all, err := b.Store.Breakdown(bounded, q, page.Name, number.Key, values, maxPropValues)
	if errors.Is(err, store.ErrTooLarge) || bounded.Err() != nil && ctx.Err() == nil {
		page.TooMany = true
		return nil
	}
	if err != nil {
		return err
	}
	if page.Number = number; number.Key != "" {
		page.sumProps(all.Props)
	}
	for _, of := range []struct {
		by   store.Dimension
		rows []store.SumRow
	}{{store.Sources, all.Sources}, {store.Campaigns, all.Campaigns}, {store.Mediums, all.Mediums}} {
		if len(of.rows) > 0 {
			page.Origins = append(page.Origins, page.origins(of.by, of.rows))
		}
	}
	return nil
}

// sumProps adds the sums to the tables of props.
func (p *eventPage) sumProps(sums []store.SumRow) {
	for i := range p.Props {
		t := &p.Props[i]
		for j := range t.Rows {
			t.Rows[j].Sum = sums[j].Sum
		}
		sums = sums[len(t.Rows):]
		if t.Key != p.Number.Key { // the sums of a number by its own values say nothing
			t.Number = p.Number.Key
		}
	}
}

// origins returns the table of a dimension. Its last row has the events that are in no other.
func (p *eventPage) origins(by store.Dimension, rows []store.SumRow) propTable {
	info, _ := by.Info()
	t := propTable{Key: info.Title, What: info.What, Number: p.Number.Key}
	rest := tableRow{Text: "None", Direct: true, Share: "0%"}
	if len(rows) == maxPropValues {
		rest.Text = "Others, and none"
	}
	rest.Count, rest.Sum = p.Row.Count, p.Number.Sum
	most := slices.MaxFunc(rows, func(a, b store.SumRow) int { return int(a.Count - b.Count) }).Count
	for _, row := range rows {
		t.Rows = append(t.Rows, tableRow{Text: row.Value, Count: row.Count, Sum: row.Sum, Share: share(row.Count, most)})
		rest.Count -= row.Count
		rest.Sum -= row.Sum
	}
	if rest.Count > 0 { // the events were counted before; later ones may be in rows
		t.Rows = append(t.Rows, rest)
	}
	return t
}
