// Package middleware measures what a middleware adds to each request.
package middleware

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"testing"
	"time"

	"github.com/footfall-dev/footfall/bench/caller"
	"github.com/footfall-dev/footfall/bench/report"
)

const (
	requests  = 20_000 // in each measurement of time
	allocated = 100    // in one of allocations: too few for the background to get a turn
)

// Run is B. It takes some five seconds a round.
func Run(ctx context.Context, o report.Options) (report.Section, error) {
	section := report.Section{
		ID: "B", Title: "The middleware",
		How: fmt.Sprintf("A request for GET /orders/42 through an http.ServeMux with the route GET /orders/{id}, whose handler writes two bytes, into a writer that costs nothing and has the methods of net/http's. "+
			"Bare and wrapped take turns; the figures are wrapped less bare, medians of %d rounds of %d requests, allocations of %d, each begun when nothing else in the process works. Once the middleware is the handler of the http.Server, once it is below another that passes on what it gets.", o.Rounds, requests, allocated),
	}
	all, end, err := wrappers()
	defer end()
	if err != nil {
		return section, err
	}
	outermost, err := measure(ctx, o.Rounds, requests, all, direct)
	if err != nil {
		return section, err
	}
	within, err := measure(ctx, o.Rounds, requests, all, below)
	if err != nil {
		return section, err
	}
	table := report.Table{Columns: []string{"middleware", "ns over bare", "allocs over bare", "below another: ns", "allocs"}}
	for i, w := range all {
		table.Rows = append(table.Rows, []any{w.name, outermost[i].ns, outermost[i].allocs, within[i].ns, within[i].allocs})
		if w.setting != "" {
			section.Notes = append(section.Notes, w.name+": "+w.setting+".")
		}
	}
	table.Caption = fmt.Sprintf("The bare handler takes %.0f ns and %.0f allocations.", outermost[len(all)].ns, outermost[len(all)].allocs)
	section.Tables = []report.Table{table}
	section.Notes = append(section.Notes, "What sentryhttp, traced, and otelhttp, spans batched, do in the background meanwhile counts as theirs.")
	return section, nil
}

// wrapper is a middleware, set up.
type wrapper struct {
	name, setting string
	wrap          func(http.Handler) http.Handler
	before        func() // each measurement; may be nil
}

func (w *wrapper) prepare() {
	if w.before != nil {
		w.before()
	}
}

// cost is of one request.
type cost struct{ ns, allocs float64 }

func direct(handler http.Handler) http.Handler { return handler }

// below puts a middleware in front that changes nothing.
func below(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { next.ServeHTTP(w, r) })
}

// measure returns what each costs over the bare handler, and last what that one costs.
func measure(ctx context.Context, rounds, count int, all []wrapper, place func(http.Handler) http.Handler) ([]cost, error) {
	base := requester(place(mux()))
	made := make([]func(), len(all))
	for i := range all {
		made[i] = requester(place(all[i].wrap(mux())))
		all[i].prepare()
		timed(made[i], count) // fills pools
	}
	over, bare := make([]costs, len(all)), costs{}
	for range rounds {
		for i := range all {
			all[i].prepare()
			alone, err := once(ctx, base, count)
			if err != nil {
				return nil, err
			}
			wrapped, err := once(ctx, made[i], count)
			if err != nil {
				return nil, err
			}
			bare.add(alone)
			over[i].add(cost{wrapped.ns - alone.ns, wrapped.allocs - alone.allocs})
		}
	}
	found := make([]cost, 0, len(all)+1)
	for i := range over {
		found = append(found, over[i].median())
	}
	return append(found, bare.median()), nil
}

type costs struct{ ns, allocs []float64 }

func (c *costs) add(one cost) {
	c.ns = append(c.ns, one.ns)
	c.allocs = append(c.allocs, one.allocs)
}

func (c *costs) median() cost { return cost{report.Median(c.ns), report.Median(c.allocs)} }

// once measures when nothing is left of what was measured before.
func once(ctx context.Context, request func(), count int) (cost, error) {
	if err := caller.Idle(ctx); err != nil {
		return cost{}, err
	}
	ns := timed(request, count)
	if err := caller.Idle(ctx); err != nil {
		return cost{}, err
	}
	return cost{ns, testing.AllocsPerRun(allocated, request)}, nil
}

func timed(request func(), count int) float64 {
	runtime.GC()
	start := time.Now()
	for range count {
		request()
	}
	return float64(time.Since(start)) / float64(count)
}
