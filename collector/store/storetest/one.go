package storetest

import (
	"context"

	"github.com/footfall-dev/footfall/collector/store"
)

// The functions below ask a store one question each.

// Totals returns the totals of a query.
func Totals(ctx context.Context, s store.EventStore, q store.Query) (store.Totals, error) {
	a, err := one(ctx, s, q, store.Question{})
	return a.Totals, err
}

// Series returns a point for each step of a query.
func Series(ctx context.Context, s store.EventStore, q store.Query, step store.Step) ([]store.Point, error) {
	a, err := one(ctx, s, q, store.Question{Step: step})
	return a.Points, err
}

// Top returns the most frequent texts of a dimension.
func Top(ctx context.Context, s store.EventStore, q store.Query, by store.Dimension, limit int) ([]store.Row, error) {
	a, err := one(ctx, s, q, store.Question{Counts: by.Counts, By: by.Field, Limit: limit})
	return a.Rows, err
}

// Props returns the props of the events with a name.
func Props(ctx context.Context, s store.EventStore, q store.Query, event string, limit int) (store.Answer, error) {
	return one(ctx, s, Named(q, event), store.Question{By: store.Props, Limit: limit})
}

// Count returns the number of the events that match, and of their visitors.
func Count(ctx context.Context, s store.EventStore, q store.Query, m store.Match) (store.Row, error) {
	a, err := one(ctx, s, q, store.Question{Goals: []store.Match{m}})
	if err != nil {
		return store.Row{}, err
	}
	return a.Rows[0], nil
}

func one(ctx context.Context, s store.EventStore, q store.Query, question store.Question) (store.Answer, error) {
	answers, err := s.Ask(ctx, q, question)
	if err != nil {
		return store.Answer{}, err
	}
	return answers[0], nil
}

// Named returns a query of the events with a name.
func Named(q store.Query, name string) store.Query {
	q.Filter = store.Filter{{Field: store.Name, Op: store.Is, Values: []string{name}}}
	return q
}
