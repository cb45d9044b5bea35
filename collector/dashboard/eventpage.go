package dashboard

import (
	"cmp"
	"context"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/footfall-dev/footfall/collector/account"
	"github.com/footfall-dev/footfall/collector/store"
)

// maxPropValues is how many values of each prop, and how many numeric props are shown for an event.
const maxPropValues = 20

// eventPage is the data of the page of one event.
type eventPage struct {
	Name    string
	Row     store.Row
	Chart   chart
	Numbers []store.Number
	Number  store.Number // whose sums the tables have; without a key if there is none
	Origins []propTable  // sources, campaigns and mediums
	TooMany bool         // there are too many of them
	Pages   table
	Props   []propTable
	Hidden  store.PropRow // sum of the keys left out

	Replaced *replaced // in Pages; nil for nothing
	Back     string
	self     string // without Number

	Currencies string           // the values of the prop currency, if they differ
	others     map[string]int64 // events whose value of a prop is store.Other, by key
}

func (p eventPage) shownTables() []table { return []table{p.Pages} }

// Sums are the numbers that the page begins with.
func (p eventPage) Sums() []store.Number { return p.Numbers[:min(len(p.Numbers), 2)] }

// Without returns how many events have no number in a prop.
func (p eventPage) Without(n store.Number) int64 { return max(p.Row.Count-n.Count, 0) }

// Missing returns in how many events a numeric prop became "(other)", so that its sum lacks them.
func (p eventPage) Missing(key string) int64 { return p.others[key] }

// HasSums reports whether a table has sums.
func (p eventPage) HasSums() bool {
	return p.Number.Key != "" && slices.ContainsFunc(slices.Concat(p.Origins, p.Props), func(t propTable) bool { return t.Number != "" })
}

// SumBy returns the URL of the page with the sums of another number.
func (p eventPage) SumBy(key string) string { return p.self + "&" + url.Values{"sum": {key}}.Encode() }

// propTable holds the values of a key, or of a dimension.
type propTable struct {
	Key    string
	What   string // header of the values
	Number string // key of the number whose sums the rows have; "" for none
	Rows   []tableRow
	Rest   store.PropRow // sum of the values left out
}

// events returns the number of events with the prop.
func (t propTable) events() int64 {
	all := t.Rest.Count
	for _, row := range t.Rows {
		all += row.Count
	}
	return all
}

// events shows the table of all events, or one event with its props.
func (b *board) events(w http.ResponseWriter, r *http.Request, site account.Site) error {
	name := r.URL.Query().Get("name")
	if name == "" {
		return b.showTable(w, r, site, dimensionOf(store.Names))
	}
	p, err := b.readScope(r, site)
	if err != nil {
		return err
	}
	page, err := b.eventReport(r.Context(), site.ID, p, name, r.URL.Query().Get("sum"))
	if err != nil {
		return err
	}
	return b.show(w, r, p.status(), "event", view{
		Title: name, Tab: "overview", Site: site, Period: p, Data: page,
	})
}

// named returns q for the events with a name.
func named(q store.Query, name string) store.Query {
	q.Filter = append(slices.Clip(q.Filter), store.Condition{Field: store.Name, Op: store.Is, Values: []string{name}})
	return q
}

// named returns the period with the condition that events have a name.
func (p period) named(name string) period {
	p.conditions = named(store.Query{Filter: p.conditions}, name).Filter
	return p
}

// eventReport asks for the figures of an event.
func (b *board) eventReport(ctx context.Context, site string, p period, name, sum string) (eventPage, error) {
	path := "/sites/" + site + "/events"
	page := eventPage{Name: name, Back: p.On(path), self: p.OnEvent(path, name)}
	answers, err := b.Store.Ask(ctx, named(p.query(site), name), store.Question{}, store.Question{Step: p.Unit.Step()},
		store.Question{Counts: store.Events, By: store.Path, Limit: maxEventPages}, store.Question{By: store.Props, Limit: maxPropValues})
	if err != nil {
		return page, err
	}
	totals, points, pages, props := answers[0].Totals, p.local(answers[1].Points), answers[2].Rows, answers[3]
	page.Row = store.Row{Count: totals.Events, Visitors: totals.Visitors}
	line, err := b.earlierPoints(ctx, site, p.named(name))
	if err != nil {
		return page, err
	}
	page.Chart = newEventChart(points, line, p)
	page.Pages, page.Replaced = newTable(dimensionOf(store.EventPages), p, site, pages), replacedIn(pages)
	page.Numbers = props.Numbers
	page.Currencies = currencies(props.Props)
	page.others = make(map[string]int64)
	for _, row := range props.Props {
		if row.Value == store.Other && row.Rest == 0 {
			page.others[row.Key] = row.Count
		}
	}
	page.Props, page.Hidden = propTables(p, props.Props)
	page.Props = slices.DeleteFunc(page.Props, page.onlySum)
	slices.SortStableFunc(page.Props, func(a, b propTable) int { return a.Rest.Rest - b.Rest.Rest })
	return page, b.breakdown(ctx, p, named(p.query(site), name), &page, sum)
}

// currencies describes the values of the props named currency, or returns "" if they do not differ.
// Until amounts have a currency, sums add up all of them.
func currencies(rows []store.PropRow) string {
	var all []store.Row
	var texts []string
	for _, row := range rows {
		value := strings.TrimSpace(row.Value)
		if !strings.EqualFold(row.Key, "currency") || value == "" && row.Rest == 0 {
			continue
		}
		known := slices.IndexFunc(all, func(c store.Row) bool { return strings.EqualFold(c.Value, value) })
		switch {
		case row.Rest > 0:
			texts = append(texts, "and "+count(int64(row.Rest))+" more")
		case known >= 0:
			all[known].Count += row.Count
		default:
			all = append(all, store.Row{Value: value, Count: row.Count})
		}
	}
	if len(all)+len(texts) < 2 {
		return ""
	}
	slices.SortStableFunc(all, func(a, b store.Row) int { return cmp.Compare(b.Count, a.Count) })
	for i, c := range all {
		texts = slices.Insert(texts, i, c.Value+" ("+plural(c.Count, "event")+")")
	}
	return strings.Join(texts, ", ")
}

// onlySum reports whether a prop is a number in each event, and has more values than are shown or
// never the same one twice. A table would show equal bars.
func (p eventPage) onlySum(t propTable) bool {
	return len(t.Rows) > 1 && (t.Rest.Rest > 0 || t.Rows[0].Count == 1) &&
		slices.ContainsFunc(p.Numbers, func(n store.Number) bool { return n.Key == t.Key && n.Count == t.events() })
}

// maxEventPages is how many pages are shown for an event.
const maxEventPages = 20

// number formats a sum or a mean, with two digits unless it is whole.
func number(f float64) string {
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return "out of range"
	}
	if math.Abs(f) >= 1e15 {
		return strconv.FormatFloat(f, 'g', 6, 64)
	}
	whole, digits, _ := strings.Cut(strconv.FormatFloat(f, 'f', 2, 64), ".")
	n, _ := strconv.ParseInt(whole, 10, 64) // has at most 15 digits
	text := count(n)
	if n == 0 && strings.HasPrefix(whole, "-") {
		text = "-0"
	}
	if digits == "00" {
		return strings.Replace(text, "-0", "0", 1)
	}
	return text + "." + digits
}

// mean returns the mean of a prop's numbers.
func mean(n store.Number) float64 { return n.Sum / float64(n.Count) }

// propTables groups rows, which are sorted by key. The last one may be the sum of hidden keys.
func propTables(p period, rows []store.PropRow) (all []propTable, hidden store.PropRow) {
	most := int64(0)
	for _, row := range rows {
		if row.Key == "" && row.Rest > 0 {
			hidden = row
			continue
		}
		if len(all) == 0 || all[len(all)-1].Key != row.Key {
			all, most = append(all, propTable{Key: row.Key, What: "Value"}), row.Count
		}
		last := &all[len(all)-1]
		if row.Rest > 0 {
			last.Rest = row
			continue
		}
		last.Rows = append(last.Rows, tableRow{
			Text: cmp.Or(row.Value, "(empty)"), value: row.Value, Count: row.Count, Visitors: row.Visitors, Share: share(row.Count, most),
			Only: p.only(store.PropOf, row.Key, row.Value), Not: p.not(store.PropOf, row.Key, row.Value),
		})
	}
	return all, hidden
}
