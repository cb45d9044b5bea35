package storetest

import (
	"fmt"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/store"
)

var figures = []promise{
	{"totals count visitors, pageviews and events", func(f *fixture) {
		f.add(pageview(at(0, 1), 1, "/"), pageview(at(0, 2), 1, "/a"), pageview(at(0, 3), 2, "/"), event(at(0, 4), 3, "signup"), event(at(0, 5), 0, "paid"))
		assert.Equal(f, store.Totals{Visitors: 3, Pageviews: 3, Events: 2}, f.totals(days(0, 1)))
	}},
	{"a visitor counts once in each UTC day", func(f *fixture) {
		f.add(pageview(at(0, 23), 1, "/"), pageview(at(1, 0).Add(-time.Millisecond), 1, "/"), pageview(at(1, 0), 1, "/"), pageview(at(2, 5), 1, "/"))
		assert.EqualValues(f, 3, f.totals(days(0, 3)).Visitors)
	}},
	{"a range begins with From and ends before To, to the millisecond", func(f *fixture) {
		f.add(pageview(at(1, 0).Add(-time.Millisecond), 1, "/"), pageview(at(1, 0), 2, "/"), pageview(at(2, 0).Add(-time.Millisecond), 3, "/"), pageview(at(2, 0), 4, "/"))
		assert.Equal(f, store.Totals{Visitors: 2, Pageviews: 2}, f.totals(days(1, 2)))
		assert.Equal(f, store.Totals{Visitors: 1, Pageviews: 1}, f.totals(store.Query{Site: "s", From: at(1, 0).Add(1), To: at(2, 0)}))
		assert.Equal(f, store.Totals{Visitors: 3, Pageviews: 3}, f.totals(store.Query{Site: "s", From: at(1, 0), To: at(2, 0).Add(1)}))
		assert.Zero(f, f.totals(days(1, 1)))
		assert.Zero(f, f.totals(days(2, 1)))
	}},
	{"a range of all times there are can be asked about", func(f *fixture) {
		f.add(pageview(at(1, 0), 1, "/"), pageview(time.Unix(-86401, 0), 2, "/"), pageview(at(9000, 0), 3, "/"))
		q := store.Query{Site: "s", To: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}
		assert.Equal(f, store.Totals{Visitors: 3, Pageviews: 3}, f.totals(q))
		assert.Equal(f, []store.Row{{Value: "/", Count: 3, Visitors: 3}}, f.top(q, store.Pages, 9))
		assert.Equal(f, store.Row{Count: 3, Visitors: 3}, f.count(q, store.Match{Page: "*"}))
	}},
	{"a series has a point for each day, zeros included", func(f *fixture) {
		f.add(pageview(at(1, 1), 1, "/"), pageview(at(1, 2), 1, "/"), event(at(3, 1), 0, "paid"))
		assert.Equal(f, []store.Point{
			{At: at(0, 0)},
			{At: at(1, 0), Totals: store.Totals{Visitors: 1, Pageviews: 2}},
			{At: at(2, 0)},
			{At: at(3, 0), Totals: store.Totals{Events: 1}},
		}, f.series(days(0, 4), store.Day))
	}},
	{"a series has a point for each hour, in which a visitor counts once", func(f *fixture) {
		f.add(pageview(at(1, 1), 1, "/"), pageview(at(1, 1).Add(59*time.Minute), 1, "/"), pageview(at(1, 3), 1, "/"))
		points := f.series(days(1, 2), store.Hour)
		require.Len(f, points, 24)
		assert.Equal(f, store.Point{At: at(1, 1), Totals: store.Totals{Visitors: 1, Pageviews: 2}}, points[1])
		assert.Equal(f, store.Point{At: at(1, 2)}, points[2])
		assert.Equal(f, store.Point{At: at(1, 3), Totals: store.Totals{Visitors: 1, Pageviews: 1}}, points[3])
	}},
	{"a series of a range within steps counts only the range", func(f *fixture) {
		for hour := range 72 {
			f.add(pageview(at(0, hour), uint64(hour+1), "/"))
		}
		q := store.Query{Site: "s", From: at(0, 22).Add(30 * time.Minute), To: at(2, 1).Add(time.Minute)}
		points := f.series(q, store.Day)
		require.Len(f, points, 3)
		assert.Equal(f, store.Point{At: at(0, 0), Totals: store.Totals{Visitors: 1, Pageviews: 1}}, points[0])
		assert.Equal(f, store.Point{At: at(1, 0), Totals: store.Totals{Visitors: 24, Pageviews: 24}}, points[1])
		assert.Equal(f, store.Point{At: at(2, 0), Totals: store.Totals{Visitors: 2, Pageviews: 2}}, points[2])

		points = f.series(q, store.Hour)
		require.Len(f, points, 28)
		assert.Equal(f, store.Point{At: at(0, 22)}, points[0])
		assert.Equal(f, store.Point{At: at(2, 1), Totals: store.Totals{Visitors: 1, Pageviews: 1}}, points[27])
	}},
	{"a series of an empty range has no points", func(f *fixture) {
		f.add(pageview(at(1, 0), 1, "/"))
		assert.Empty(f, f.series(days(1, 1), store.Day))
		assert.Empty(f, f.series(days(2, 1), store.Hour))
	}},
	{"an event that comes late changes the figures of its day", func(f *fixture) {
		f.add(pageview(at(1, 1), 1, "/"))
		for i := range int64(3) {
			ask(f, days(0, 3)) // the store may cache reports
			f.add(pageview(at(1, 2), uint64(i+2), "/"), event(at(1, 3), 0, "paid", "plan", "pro"))
			assert.Equal(f, store.Totals{Visitors: i + 2, Pageviews: i + 2, Events: i + 1}, f.totals(days(0, 3)))
			assert.Equal(f, []store.Row{{Value: "/", Count: i + 2, Visitors: i + 2}}, f.top(days(0, 3), store.Pages, 9))
			assert.EqualValues(f, i+1, f.props(days(0, 3), "paid", 9)[0].Count)
			assert.EqualValues(f, i+1, f.funnel(days(0, 3), store.Match{Event: "paid"}, store.Match{Page: "/"}).Visitorless)
			assert.EqualValues(f, i+2, f.series(days(1, 2), store.Hour)[1].Pageviews+f.series(days(1, 2), store.Hour)[2].Pageviews)
		}
	}},
}

// ask requests every report.
func ask(f *fixture, q store.Query) {
	f.totals(q)
	f.series(q, store.Hour)
	f.series(q, store.Day)
	for _, d := range store.Dimensions() {
		f.top(q, d, 9)
	}
	f.props(q, "paid", 9)
	f.numbers(q, "paid", 9)
	f.pagesOf(q, "paid", 9)
	f.count(q, store.Match{Page: "/*"})
	f.funnel(q, store.Match{Page: "/*"}, store.Match{Event: "paid"})
	f.recent(q, 9)
}

var tops = []promise{
	{"Top counts pages by pageviews, not by events", func(f *fixture) {
		f.add(pageview(at(0, 1), 1, "/a"), pageview(at(0, 2), 1, "/a"), pageview(at(0, 3), 2, "/b"), event(at(0, 4), 2, "signup"), pageview(at(1, 1), 1, "/a"), pageview(at(1, 1), 0, "/a"))
		assert.Equal(f, []store.Row{{Value: "/a", Count: 4, Visitors: 2}, {Value: "/b", Count: 1, Visitors: 1}}, f.top(days(0, 2), store.Pages, 9))
	}},
	{"Top counts names by events, with and without a visitor", func(f *fixture) {
		f.add(event(at(0, 1), 0, "paid"), event(at(0, 1), 0, "paid"), event(at(0, 2), 5, "signup"), pageview(at(0, 1), 5, "/"))
		assert.Equal(f, []store.Row{{Value: "paid", Count: 2}, {Value: "signup", Count: 1, Visitors: 1}}, f.top(days(0, 1), store.Names, 9))
	}},
	{"Top counts pageviews without a referrer as direct", func(f *fixture) {
		came := pageview(at(0, 1), 1, "/")
		came.Referrer = "r.example"
		f.add(came, came, pageview(at(0, 2), 2, "/"), event(at(0, 3), 2, "signup"))
		assert.Equal(f, []store.Row{{Value: "r.example", Count: 2, Visitors: 1}, {Value: "", Count: 1, Visitors: 1}}, f.top(days(0, 1), store.Referrers, 9))
	}},
	{"Top leaves out pageviews without a source, a medium or a campaign", func(f *fixture) {
		tagged := pageview(at(0, 1), 1, "/")
		tagged.Source, tagged.Medium, tagged.Campaign = "news", "mail", "spring"
		named := tagged
		named.Name = "signup"
		f.add(tagged, pageview(at(0, 2), 2, "/"), named)
		assert.Equal(f, []store.Row{{Value: "news", Count: 1, Visitors: 1}}, f.top(days(0, 1), store.Sources, 9))
		assert.Equal(f, []store.Row{{Value: "mail", Count: 1, Visitors: 1}}, f.top(days(0, 1), store.Mediums, 9))
		assert.Equal(f, []store.Row{{Value: "spring", Count: 1, Visitors: 1}}, f.top(days(0, 1), store.Campaigns, 9))
	}},
	{"Top counts the texts of each dimension by its own events", func(f *fixture) {
		for _, d := range store.Dimensions() {
			viewed, named := pageview(at(0, 1), 1, "/"), event(at(0, 2), 2, "named")
			text := fmt.Sprint(d)
			*d.Field.Of(&viewed) = text
			viewed.Name = ""
			*d.Field.Of(&named) = text
			viewed.Site, named.Site = text, text
			f.add(viewed, named, named)
			want := []store.Row{{Value: text, Count: 1, Visitors: 1}}
			if d.Counts == store.Events {
				want[0].Count = 2
			}
			q := days(0, 1)
			q.Site = text
			assert.Equal(f, want, f.top(q, d, 9), text)
		}
	}},
	{"the pages of one event are counted", func(f *fixture) {
		other := event(at(0, 3), 2, "paid")
		other.Path = "/other"
		f.add(event(at(0, 1), 1, "paid"), event(at(1, 2), 1, "paid"), other, event(at(0, 4), 3, "seen"), pageview(at(0, 5), 4, "/viewed"))
		assert.Equal(f, []store.Row{{Value: "/", Count: 2, Visitors: 2}, {Value: "/other", Count: 1, Visitors: 1}}, f.pagesOf(days(0, 2), "paid", 9))
		assert.Len(f, f.pagesOf(days(0, 2), "paid", 1), 1)
		assert.Empty(f, f.pagesOf(days(0, 2), "none", 9))
	}},
	{"rows sum up a number, and values of a prop may be chosen", func(f *fixture) {
		paid := func(day int, source, campaign, amount string, numeric bool, props ...string) store.Event {
			e := event(at(day, 1), 0, "paid", append(props, "amount", amount)...)
			e.Source, e.Campaign = source, campaign
			e.Props[len(e.Props)-1].Numeric = numeric
			return e
		}
		other := paid(0, "news", "spring", "1", true)
		other.Name = "refunded"
		viewed := pageview(at(0, 2), 1, "/")
		viewed.Source = "news"
		f.add(paid(0, "news", "spring", "10", true, "landing", "/"), paid(1, "news", "fall", "5.5", true, "landing", "/sale"), paid(1, "ads", "", "7", true),
			paid(0, "news", "spring", "99", false, "landing", "/"), paid(0, "", "", "3", true, "landing", "/"), paid(2, "news", "", "1000", true), other, viewed)
		by := func(field store.Field, values ...string) []store.Row {
			return f.answer(Named(days(0, 2), "paid"), store.Question{Counts: store.Events, By: field, Key: "landing", Values: values, Number: "amount", Limit: 9}).Rows
		}
		assert.Equal(f, []store.Row{{Value: "news", Count: 3, Sum: 15.5}, {Value: "ads", Count: 1, Sum: 7}}, by(store.Source))
		assert.Empty(f, by(store.Medium))
		assert.Equal(f, []store.Row{{Value: "spring", Count: 2, Sum: 10}, {Value: "fall", Count: 1, Sum: 5.5}}, by(store.Campaign))
		assert.Equal(f, []store.Row{{Value: "/", Count: 3, Sum: 13}}, by(store.PropOf, "/", "/none"))
		assert.Equal(f, []store.Row{{Value: "/", Count: 3, Sum: 13}, {Value: "/sale", Count: 1, Sum: 5.5}}, by(store.PropOf))
	}},
	{"the events with a name have a series", func(f *fixture) {
		f.add(event(at(0, 1), 1, "paid"), event(at(0, 3), 1, "paid"), event(at(1, 2), 0, "paid"), event(at(1, 2), 3, "seen"), pageview(at(0, 5), 4, "/"))
		assert.Equal(f, []store.Point{
			{At: at(0, 0), Totals: store.Totals{Visitors: 1, Events: 2}}, {At: at(1, 0), Totals: store.Totals{Events: 1}}, {At: at(2, 0)},
		}, f.series(Named(days(0, 3), "paid"), store.Day))
		hours := f.series(Named(days(0, 1), "paid"), store.Hour)
		require.Len(f, hours, 24)
		assert.Equal(f, store.Totals{Visitors: 1, Events: 1}, hours[3].Totals)
		assert.Len(f, f.series(Named(days(0, 3), "none"), store.Day), 3)
	}},
	{"Numbers sums up values that are numbers, not texts", func(f *fixture) {
		paid := func(day int, name, value string, numeric bool) store.Event {
			e := event(at(day, 1), 1, name, "amount", value, "plan", "pro")
			e.Props[0].Numeric = numeric
			return e
		}
		f.add(paid(0, "paid", "10", true), paid(1, "paid", "10", true), paid(1, "paid", "-2.5e1", true), paid(0, "paid", "1000", false),
			paid(0, "paid", "1e999", true), paid(0, "refunded", "7", true))
		assert.Equal(f, []store.Number{{Key: "amount", Count: 3, Sum: -5, Min: -25, Max: 10}}, f.numbers(days(0, 2), "paid", 9))
		assert.Equal(f, []store.Number{{Key: "amount", Count: 1, Sum: 10, Min: 10, Max: 10}}, f.numbers(days(0, 1), "paid", 9))
		assert.Empty(f, f.numbers(days(0, 2), "paid", 0))
		assert.Empty(f, f.numbers(days(0, 2), "none", 9))
	}},
	{"Numbers returns the most frequent keys", func(f *fixture) {
		for i, key := range []string{"c", "a", "b", "b", "d"} {
			e := event(at(0, i), 1, "paid", key, "1")
			e.Props[0].Numeric = true
			f.add(e)
		}
		var keys []string
		for _, n := range f.numbers(days(0, 1), "paid", 3) {
			keys = append(keys, n.Key)
		}
		assert.Equal(f, []string{"b", "a", "c"}, keys)
	}},
	{"an invalid question or filter is an error", func(f *fixture) {
		for _, question := range []store.Question{
			{By: "none", Counts: store.Events}, {By: store.Goal}, {By: store.Path}, {By: store.Props}, {Step: store.Day, By: store.Path}, {Step: store.Step(time.Minute)},
			{Goals: make([]store.Match, store.MaxGoals+1)},
		} {
			_, err := f.Ask(f.Context(), days(0, 1), store.Question{}, question)
			assert.Error(f, err, "%+v", question)
		}
		for _, c := range []store.Condition{
			{}, {Field: store.Path, Op: store.Is}, {Field: store.Path, Op: "like", Values: []string{"/"}}, {Field: "none", Op: store.Is, Values: []string{"/"}},
			{Field: store.Path, Op: store.Contains, Values: []string{""}}, {Field: store.Goal, Op: store.Is}, {Field: store.Goal, Op: store.Contains, Goals: []store.Match{paid}},
			{Field: store.Goal, Op: store.Is, Goals: make([]store.Match, store.MaxFilterGoals+1)},
		} {
			q := days(0, 1)
			q.Filter = store.Filter{c}
			_, err := f.Ask(f.Context(), q, store.Question{})
			assert.Error(f, err, "%+v", c)
		}
		forever := store.Query{Site: "s", To: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}
		_, err := f.Ask(f.Context(), forever, store.Question{Step: store.Hour})
		assert.Error(f, err)
	}},
	{"Top puts values of equal count in byte order, before it takes the first of them", func(f *fixture) {
		for i, path := range []string{"/é", "/b", "/a", "/Z", "/a/", "/%", "/most", "/most"} {
			f.add(pageview(at(0, i), 1, path))
		}
		assert.Equal(f, []string{"/most", "/%", "/Z", "/a", "/a/", "/b", "/é"}, values(f.top(days(0, 1), store.Pages, 9)))
		assert.Equal(f, []string{"/most", "/%", "/Z"}, values(f.top(days(0, 1), store.Pages, 3)))
		assert.Empty(f, f.top(days(0, 1), store.Pages, 0))
	}},
	{"Props counts values for each key, in order", func(f *fixture) {
		f.add(event(at(0, 1), 1, "paid", "plan", "pro", "cur", "eur"), event(at(0, 2), 1, "paid", "plan", "pro"), event(at(1, 2), 1, "paid", "plan", "free"),
			event(at(0, 3), 0, "paid", "plan", "basic"), event(at(0, 3), 2, "other", "plan", "pro"), pageview(at(0, 3), 2, "/"))
		assert.Equal(f, []store.PropRow{
			{Key: "cur", Row: store.Row{Value: "eur", Count: 1, Visitors: 1}},
			{Key: "plan", Row: store.Row{Value: "pro", Count: 2, Visitors: 1}},
			{Key: "plan", Row: store.Row{Value: "basic", Count: 1}},
			{Key: "plan", Row: store.Row{Value: "free", Count: 1, Visitors: 1}},
		}, f.props(days(0, 2), "paid", 9))
		assert.Equal(f, []store.PropRow{
			{Key: "cur", Row: store.Row{Value: "eur", Count: 1, Visitors: 1}},
			{Key: "plan", Row: store.Row{Value: "pro", Count: 2, Visitors: 1}},
			{Key: "plan", Row: store.Row{Count: 2}, Rest: 2},
		}, f.props(days(0, 2), "paid", 1))
		assert.Empty(f, f.props(days(0, 2), "PAID", 9))
		assert.Empty(f, f.props(days(0, 2), "paid", 0))
	}},
	{"Props returns the most frequent keys, and the sums of others", func(f *fixture) {
		f.addManyKeys()
		rows := f.props(days(0, 3), "paid", 2)
		require.Len(f, rows, store.MaxReportKeys+3)
		assert.Equal(f, store.PropRow{Key: "key 000", Row: store.Row{Value: "v", Count: 1, Visitors: 1}}, rows[0])
		assert.Equal(f, "key 098", rows[98].Key, "of equal counts, the first keys")
		assert.Equal(f, []store.PropRow{
			{Key: "often", Row: store.Row{Value: "0", Count: 1, Visitors: 1}},
			{Key: "often", Row: store.Row{Value: "1", Count: 1, Visitors: 1}},
			{Key: "often", Row: store.Row{Count: 8}, Rest: 8},
			{Row: store.Row{Count: 51}, Rest: 51},
		}, rows[99:])
	}},
	{"Props counts a number with a string of its text, and other texts apart", func(f *fixture) {
		for _, p := range []store.Prop{{Key: "n", Value: "5"}, {Key: "n", Value: "5", Numeric: true}, {Key: "n", Value: "5.0", Numeric: true}, {Key: "n", Value: "05"}} {
			e := event(at(0, 1), 0, "paid")
			e.Props = []store.Prop{p}
			f.add(e)
		}
		rows := f.props(days(0, 1), "paid", 9)
		require.Len(f, rows, 3)
		assert.Equal(f, store.PropRow{Key: "n", Row: store.Row{Value: "5", Count: 2}}, rows[0])
	}},
	{"Props counts hostile text as any other", func(f *fixture) {
		for i, text := range hostile {
			f.add(event(at(0, 1), 1, "paid", text, text), event(at(0, 2), 1, text, "k", hostile[(i+1)%len(hostile)]))
		}
		assert.Len(f, f.props(days(0, 1), "paid", 1), len(hostile))
		for i, text := range hostile {
			assert.Equal(f, []store.PropRow{{Key: "k", Row: store.Row{Value: hostile[(i+1)%len(hostile)], Count: 1, Visitors: 1}}}, f.props(days(0, 1), text, 9))
			assert.Equal(f, store.Row{Count: 1, Visitors: 1}, f.count(days(0, 1), store.Match{Event: "paid", PropKey: text, PropValue: text}))
		}
	}},
}

func values(rows []store.Row) []string {
	var all []string
	for _, row := range rows {
		all = append(all, row.Value)
	}
	return all
}

// addManyKeys adds 150 keys of one event each and a key of ten events, on three days.
func (f *fixture) addManyKeys() {
	for i := range 10 {
		e := event(at(i%3, i), uint64(i)+1, "paid", "often", fmt.Sprint(i))
		for k := range 15 {
			e.Props = append(e.Props, store.Prop{Key: fmt.Sprintf("key %03d", 15*i+k), Value: "v"})
		}
		f.add(e)
	}
}
