package storetest

import (
	"github.com/stretchr/testify/assert"

	"github.com/footfall-dev/footfall/collector/store"
)

// visit adds an afternoon of three visitors and of a server: visitor 1 comes from the newsletter and buys, visitor 2 comes from it and
// does not, visitor 3 buys on the next day.
func (f *fixture) visit() {
	came := func(e store.Event, source string) store.Event { e.Source = source; return e }
	f.add(
		came(pageview(at(0, 12), 1, "/"), "news"), pageview(at(0, 13), 1, "/shop"), event(at(0, 14), 1, "bought", "plan", "pro"),
		came(pageview(at(0, 12), 2, "/"), "news"), pageview(at(0, 15), 2, "/Cart"),
		pageview(at(0, 12), 3, "/shop"), event(at(1, 14), 3, "bought", "plan", "free"), pageview(at(1, 15), 3, "/thanks"),
		came(event(at(0, 16), 0, "bought", "plan", ""), "news"), event(at(0, 17), 0, "sent"),
	)
}

// of returns the totals under a filter.
func (f *fixture) of(c ...store.Condition) store.Totals {
	q := days(0, 2)
	q.Filter = c
	return f.totals(q)
}

func condition(field store.Field, op store.Op, values ...string) store.Condition {
	return store.Condition{Field: field, Op: op, Values: values}
}

func plan(op store.Op, values ...string) store.Condition {
	return store.Condition{Field: store.PropOf, Key: "plan", Op: op, Values: values}
}

var filters = []promise{
	{"a condition on a text is about the event itself", func(f *fixture) {
		f.visit()
		assert.Equal(f, store.Totals{Visitors: 2, Pageviews: 2, Events: 1}, f.of(condition(store.Source, store.Is, "news")))
		assert.Equal(f, store.Totals{Visitors: 2, Events: 3}, f.of(condition(store.Name, store.Is, "bought")))
		assert.Equal(f, store.Totals{Visitors: 4, Pageviews: 6}, f.of(condition(store.Name, store.Is, "")), "a pageview has no name")
		assert.Zero(f, f.of(condition(store.Path, store.Is, "/cart")), "case matters")
	}},
	{"a condition holds if any of its values is the one", func(f *fixture) {
		f.visit()
		assert.Equal(f, store.Totals{Visitors: 3, Pageviews: 3}, f.of(condition(store.Path, store.Is, "/shop", "/Cart", "/none")))
		assert.Equal(f, store.Totals{Visitors: 3, Pageviews: 3, Events: 4}, f.of(condition(store.Path, store.IsNot, "/shop", "/Cart", "/none")))
	}},
	{"all conditions must hold", func(f *fixture) {
		f.visit()
		assert.Equal(f, store.Totals{Events: 1}, f.of(condition(store.Name, store.Is, "bought"), condition(store.Source, store.Is, "news")))
		assert.Zero(f, f.of(condition(store.Source, store.Is, "news"), condition(store.Source, store.Is, "ads")))
	}},
	{"contains ignores case", func(f *fixture) {
		f.visit()
		assert.Equal(f, store.Totals{Visitors: 1, Pageviews: 1}, f.of(condition(store.Path, store.Contains, "CART")))
		assert.Equal(f, store.Totals{Visitors: 4, Pageviews: 5, Events: 4}, f.of(condition(store.Path, store.ContainsNot, "CART")))
	}},
	{"is not keeps events that have no such prop", func(f *fixture) {
		f.visit()
		assert.Equal(f, store.Totals{Visitors: 1, Events: 1}, f.of(plan(store.Is, "pro")))
		assert.Equal(f, store.Totals{Visitors: 4, Pageviews: 6, Events: 3}, f.of(plan(store.IsNot, "pro")))
		assert.Equal(f, store.Totals{Visitors: 4, Pageviews: 6, Events: 3}, f.of(plan(store.ContainsNot, "pr")))
		assert.Equal(f, store.Totals{Events: 1}, f.of(plan(store.Is, "")), "the empty text is a value")
		assert.Equal(f, store.Totals{Visitors: 1, Events: 2}, f.of(plan(store.Is, "", "free")))
	}},
	{"a goal keeps all events of visitors that reached it on the same day, and those of servers that reach it themselves", func(f *fixture) {
		f.visit()
		bought := store.Condition{Field: store.Goal, Op: store.Is, Goals: []store.Match{{Event: "bought"}}}
		assert.Equal(f, store.Totals{Visitors: 2, Pageviews: 3, Events: 3}, f.of(bought))
		q := days(0, 2)
		q.Filter = store.Filter{bought}
		assert.Equal(f, []store.Row{{Value: "/", Count: 1, Visitors: 1}, {Value: "/shop", Count: 1, Visitors: 1}, {Value: "/thanks", Count: 1, Visitors: 1}}, f.top(q, store.Pages, 9))
		bought.Op = store.IsNot
		assert.Equal(f, store.Totals{Visitors: 2, Pageviews: 3, Events: 1}, f.of(bought))
	}},
	{"a goal does not look at the other conditions", func(f *fixture) {
		f.visit()
		bought := store.Condition{Field: store.Goal, Op: store.Is, Goals: []store.Match{{Event: "bought"}, {Page: "/none"}}}
		assert.Equal(f, store.Totals{Visitors: 1, Pageviews: 1, Events: 1}, f.of(bought, condition(store.Source, store.Is, "news")))
	}},
	{"a goal is reached within the range, and on the same day", func(f *fixture) {
		f.visit()
		q := store.Query{Site: "s", From: at(0, 0), To: at(0, 14), Filter: store.Filter{{Field: store.Goal, Op: store.Is, Goals: []store.Match{{Event: "bought"}}}}}
		assert.Zero(f, f.totals(q))
		q.To = at(1, 0)
		assert.Equal(f, store.Totals{Visitors: 1, Pageviews: 2, Events: 2}, f.totals(q), "visitor 3 bought on the next day")
	}},
	{"funnels, exports and the latest events obey the filter", func(f *fixture) {
		f.visit()
		q := days(0, 2)
		q.Filter = store.Filter{{Field: store.Goal, Op: store.Is, Goals: []store.Match{{Event: "bought"}}}}
		assert.Equal(f, []int64{1, 1}, taken(f.funnel(q, store.Match{Page: "/shop"}, store.Match{Event: "bought"})))
		assert.Len(f, f.export(q), 6)
		q.Filter = store.Filter{condition(store.Source, store.IsNot, "")}
		assert.Len(f, f.export(q), 3)
		latest := f.recent(q, 2)
		assert.Len(f, latest, 2)
		assert.Equal(f, "bought", latest[0].Name)
	}},
	{"rows are searched and continued", func(f *fixture) {
		for i, path := range []string{"/a", "/b", "/b", "/Ab", "/c", "/none"} {
			f.add(pageview(at(0, i), uint64(i+1), path))
		}
		ask := func(q store.Question) store.Answer {
			q.Counts, q.By = store.Pageviews, store.Path
			return f.answer(days(0, 1), q)
		}
		first := ask(store.Question{Limit: 2})
		assert.Equal(f, []string{"/b", "/Ab"}, values(first.Rows))
		assert.True(f, first.More)
		last := ask(store.Question{Limit: 9, Offset: 2})
		assert.Equal(f, []string{"/a", "/c", "/none"}, values(last.Rows))
		assert.False(f, last.More)
		assert.Equal(f, []string{"/Ab", "/a"}, values(ask(store.Question{Search: "A", Limit: 9}).Rows))
		assert.Equal(f, []string{"/Ab", "/a", "/c", "/none", "/b"}, values(ask(store.Question{Order: store.LeastCounted, Limit: 9}).Rows))
		assert.Empty(f, ask(store.Question{Limit: 9, Offset: 9}).Rows)
	}},
}
