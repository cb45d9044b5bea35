package storetest

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/store"
)

// report is a query of a store about RandomEvents.
type report struct {
	name string
	ask  func(context.Context, store.Store, store.Query) (any, error)
}

// Compare requires that two stores return equal reports for q. The reports query the values
// that RandomEvents generates.
func Compare(t *testing.T, want, got store.Store, q store.Query) {
	t.Helper()
	for _, r := range reports() {
		w, err := r.ask(t.Context(), want, q)
		require.NoError(t, err)
		g, err := r.ask(t.Context(), got, q)
		require.NoError(t, err)
		require.Equal(t, w, g, "%s of %+v", r.name, q)
	}
}

func reports() []report {
	all := []report{
		{"recent", func(ctx context.Context, s store.Store, q store.Query) (any, error) {
			return list(s.Recent(ctx, q, 20))
		}},
		{"export", exported},
		{"each prop", eachProp},
		{"questions", func(ctx context.Context, s store.Store, q store.Query) (any, error) {
			return asked(ctx, s, q, questions())
		}},
	}
	for _, event := range []string{"paid", "'", "none"} {
		all = append(all, report{"questions of " + event, func(ctx context.Context, s store.Store, q store.Query) (any, error) {
			q.Filter = append(slices.Clone(q.Filter), Named(q, event).Filter...)
			return asked(ctx, s, q, questionsOf())
		}})
	}
	for _, steps := range ways {
		all = append(all, funnel(steps))
	}
	return all
}

// questions are about all events.
func questions() []store.Question {
	all := []store.Question{
		{}, {Counts: store.Pageviews}, {Counts: store.Events}, {Step: store.Hour}, {Step: store.Day}, {Step: store.Day, Counts: store.Pageviews},
		{Goals: randomMatches}, {Goals: randomMatches[:1]}, {Goals: randomMatches[9:10]},
		{By: store.PropOf, Key: "plan", Limit: 2}, {By: store.PropOf, Key: "n", Counts: store.Pageviews, Limit: 9},
		{By: store.PropOf, Key: "n", Counts: store.Events, Number: "n", Values: []string{"1", "none"}, Limit: 9},
	}
	for _, field := range store.TextFields() {
		for _, counts := range []store.Counts{store.Pageviews, store.Events} {
			all = append(all, store.Question{Counts: counts, By: field, Limit: 2}, store.Question{Counts: counts, By: field, Limit: 1000})
		}
		all = append(all,
			store.Question{Counts: store.Events, By: field, Order: store.LeastCounted, Limit: 3, Offset: 1},
			store.Question{Counts: store.Pageviews, By: field, Order: store.MostVisitors, Limit: 2},
			store.Question{Counts: store.Pageviews, By: field, Order: store.LeastVisitors, Search: "S", Limit: 2},
			store.Question{Counts: store.Events, By: field, Number: "n", Limit: 2},
			store.Question{Counts: store.Pageviews, By: field, Values: []string{"/", "news", "", "Firefox"}, Limit: 3},
			store.Question{Counts: store.Events, By: field, Values: []string{"/", "/shop", "news"}, Search: "S", Limit: 3},
		)
	}
	return all
}

// questionsOf are about the events with one name.
func questionsOf() []store.Question {
	return []store.Question{
		{}, {Step: store.Hour}, {Step: store.Day},
		{By: store.Props, Limit: 0}, {By: store.Props, Limit: 1}, {By: store.Props, Limit: 1000},
		{Counts: store.Events, By: store.Path, Limit: 2}, {Counts: store.Events, By: store.Path, Limit: 1000},
		{Counts: store.Events, By: store.Source, Number: "n", Limit: 1}, {Counts: store.Events, By: store.Campaign, Number: "n", Limit: 1000},
		{By: store.PropOf, Key: "plan", Number: "n", Limit: 9}, {By: store.PropOf, Key: "n", Values: []string{"1.0", ""}, Limit: 9},
	}
}

// asked returns the answers by their questions.
func asked(ctx context.Context, s store.Store, q store.Query, questions []store.Question) (any, error) {
	answers, err := s.Ask(ctx, q, questions...)
	all := make(map[string]store.Answer)
	for i, answer := range answers {
		all[fmt.Sprintf("%+v", questions[i])] = normal(answer)
	}
	return all, err
}

// normal makes nil and empty slices equal.
func normal(a store.Answer) store.Answer {
	a.Points, a.Rows = append([]store.Point{}, a.Points...), append([]store.Row{}, a.Rows...)
	a.Props, a.Numbers = append([]store.PropRow{}, a.Props...), append([]store.Number{}, a.Numbers...)
	return a
}

// list makes nil and empty slices equal.
func list[E any](all []E, err error) (any, error) {
	return append([]E{}, all...), err
}

func exported(ctx context.Context, s store.Store, q store.Query) (any, error) {
	var all []store.Event
	err := s.Export(ctx, q, func(e store.Event) error { all = append(all, e); return nil })
	return all, err
}

// eachProp returns what EachProp passes on, each once.
func eachProp(ctx context.Context, s store.Store, q store.Query) (any, error) {
	type sent struct {
		name    string
		visitor bool
		prop    store.Prop
	}
	all := make(map[sent]bool)
	err := s.EachProp(ctx, q, func(name string, visitor bool, p store.Prop) { all[sent{name, visitor, p}] = true })
	return all, err
}

func funnel(steps []store.Match) report {
	return report{fmt.Sprintf("funnel %q", steps), func(ctx context.Context, s store.Store, q store.Query) (any, error) {
		return s.Funnel(ctx, q, steps)
	}}
}

var randomMatches = []store.Match{
	{Page: "/"}, {Page: "*"}, {Page: "/shop*"}, {Page: "/*p*"}, {Page: "/none"}, {Page: "/ü_"}, {Page: "*%"}, {Page: "/*", PropKey: "plan", PropValue: "pro"},
	{Page: "/cart", PropKey: "\x00", PropValue: "1"},
	{Event: "paid"}, {Event: "signup"}, {Event: "*"}, {Event: "'", PropKey: "n", PropValue: "1"}, {Event: "paid", PropKey: "plan", PropValue: ""},
	{Event: "paid", PropKey: "none", PropValue: "1"},
}

var ways = [][]store.Match{
	{{Page: "/shop*"}, {Page: "/cart"}},
	{{Page: "/"}, {Page: "/shop*"}, {Page: "/c*"}, {Event: "paid"}},
	{{Page: "*"}, {Page: "*"}, {Page: "*"}},
	{{Event: "signup"}, {Event: "paid", PropKey: "plan", PropValue: "pro"}},
	{{Event: "none"}, {Page: "*"}},
	{{Page: "*", PropKey: "n", PropValue: "1"}, {Event: "paid"}, {Page: "/shop*"}, {Event: "paid"}, {Page: "/"}, {Page: "/"}, {Page: "*"}, {Page: "*"}},
}
