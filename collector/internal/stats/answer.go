package stats

import (
	"context"
	"time"

	"github.com/footfall-dev/footfall/collector/account"
	"github.com/footfall-dev/footfall/collector/internal/localtime"
	"github.com/footfall-dev/footfall/collector/store"
)

// Response is the answer to a request.
type Response struct {
	Results []Result `json:"results"`
	Meta    Meta     `json:"meta"`
}

// Result has the metrics of a row, in the order of the request, and its value of the dimension, if there is one.
type Result struct {
	Dimensions []string `json:"dimensions"`
	Metrics    []int64  `json:"metrics"`
}

// Meta describes the results.
type Meta struct {
	From string `json:"from"` // first day
	To   string `json:"to"`   // last day
	Zone string `json:"time_zone"`
	More bool   `json:"more"` // there are rows after these
}

// Answer asks the store. The site has this time zone and these goals. An error of the request is a *[FieldError].
func (r *Request) Answer(ctx context.Context, s store.EventStore, now time.Time, zone *time.Location, goals []account.Goal) (Response, error) {
	p, err := r.newPlan(now, zone, goals, func() (time.Time, error) { return store.First(ctx, s, r.Site, now) })
	if err != nil {
		return Response{}, err
	}
	answers, err := s.Ask(ctx, p.query, p.question)
	if err != nil {
		return Response{}, err
	}
	response := Response{Results: []Result{}, Meta: Meta{
		From: p.days.From.Format(time.DateOnly), To: p.days.Last().Format(time.DateOnly), Zone: zone.String(), More: answers[0].More,
	}}
	add := func(t store.Totals, dimensions ...string) {
		response.Results = append(response.Results, Result{append([]string{}, dimensions...), p.figures(t)})
	}
	switch {
	case p.unit != "":
		p.nameDays(answers[0].Points)
		for _, point := range p.unit.ColumnsOf(answers[0].Points) {
			add(point.Totals, p.name(point.At))
		}
	case p.field:
		for _, row := range answers[0].Rows {
			add(store.Totals{Visitors: row.Visitors, Pageviews: row.Count, Events: row.Count}, row.Value)
		}
	default:
		add(answers[0].Totals)
	}
	return response, nil
}

// figures returns the metrics of the request.
func (p *plan) figures(t store.Totals) []int64 {
	of := map[string]int64{visitors: t.Visitors, pageviews: t.Pageviews, events: t.Events}
	all := make([]int64, len(p.metrics))
	for i, m := range p.metrics {
		all[i] = of[m]
	}
	return all
}

// nameDays replaces the times of days by their dates.
func (p *plan) nameDays(points []store.Point) {
	for i := range points {
		if p.question.Step == store.Day {
			points[i].At = localtime.DayOf(points[i].At, p.zone)
		}
	}
}

// name returns the value of a dimension of time: the day it begins, or the hour.
func (p *plan) name(at time.Time) string {
	if p.question.Step == store.Hour {
		return at.In(p.zone).Format(time.RFC3339)
	}
	return at.Format(time.DateOnly)
}
