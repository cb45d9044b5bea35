package storetest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

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
		require.Equal(t, w, g, "%s from %v to %v", r.name, q.From, q.To)
	}
}

func reports() []report {
	all := []report{
		{"totals", func(ctx context.Context, s store.Store, q store.Query) (any, error) { return s.Totals(ctx, q) }},
		{"hours", series(store.Hour)},
		{"days", series(store.Day)},
		{"recent", func(ctx context.Context, s store.Store, q store.Query) (any, error) {
			return list(s.Recent(ctx, q, 20))
		}},
		{"export", exported},
		{"each prop", eachProp},
	}
	for _, d := range store.Dimensions() {
		all = append(all, top(d.By, 2), top(d.By, 1000))
	}
	for _, event := range []string{"paid", "'", "none"} {
		all = append(all, props(event, 2), props(event, 1000), numbers(event, 1), numbers(event, 1000),
			pagesOf(event, 2), pagesOf(event, 1000), breakdown(event, 1), breakdown(event, 1000), seriesOf(event, store.Hour), seriesOf(event, store.Day))
	}
	for _, m := range randomMatches {
		all = append(all, count(m))
	}
	for _, steps := range ways {
		all = append(all, funnel(steps))
	}
	return all
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

func series(step store.Step) func(context.Context, store.Store, store.Query) (any, error) {
	return func(ctx context.Context, s store.Store, q store.Query) (any, error) {
		return list(s.Series(ctx, q, step))
	}
}

func top(by store.Dimension, limit int) report {
	return report{fmt.Sprint("top ", limit, " by ", by), func(ctx context.Context, s store.Store, q store.Query) (any, error) {
		return list(s.Top(ctx, q, by, limit))
	}}
}

func props(event string, limit int) report {
	return report{fmt.Sprint("props ", limit, " of ", event), func(ctx context.Context, s store.Store, q store.Query) (any, error) {
		all, err := s.Props(ctx, q, event, limit)
		return list(all.Rows, err)
	}}
}

func numbers(event string, limit int) report {
	return report{fmt.Sprint("numbers ", limit, " of ", event), func(ctx context.Context, s store.Store, q store.Query) (any, error) {
		all, err := s.Props(ctx, q, event, limit)
		return list(all.Numbers, err)
	}}
}

func pagesOf(event string, limit int) report {
	return report{fmt.Sprint("pages ", limit, " of ", event), func(ctx context.Context, s store.Store, q store.Query) (any, error) {
		return list(s.PagesOf(ctx, q, event, limit))
	}}
}

// breakdown asks for sums of small numbers, whose order does not matter.
func breakdown(event string, limit int) report {
	props := []store.Prop{{Key: "plan", Value: "pro"}, {Key: "n", Value: "1"}, {Key: "n", Value: "1.0"}, {Key: "none", Value: ""}, {Key: "plan", Value: ""}}
	return report{fmt.Sprint("breakdown ", limit, " of ", event), func(ctx context.Context, s store.Store, q store.Query) (any, error) {
		b, err := s.Breakdown(ctx, q, event, "n", props, limit)
		if err != nil {
			return nil, err
		}
		return list(slices.Concat(b.Sources, []store.SumRow{{}}, b.Mediums, []store.SumRow{{}}, b.Campaigns, b.Props), nil)
	}}
}

func seriesOf(event string, step store.Step) report {
	return report{fmt.Sprint("series of ", event, " by ", time.Duration(step)), func(ctx context.Context, s store.Store, q store.Query) (any, error) {
		return list(s.SeriesOf(ctx, q, event, step))
	}}
}

func count(m store.Match) report {
	return report{fmt.Sprintf("count %q", m), func(ctx context.Context, s store.Store, q store.Query) (any, error) { return s.Count(ctx, q, m) }}
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
