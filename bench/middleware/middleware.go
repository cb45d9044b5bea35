// Package middleware measures the cost that a middleware adds to each request.
package middleware

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/footfall-dev/footfall/bench/caller"
	"github.com/footfall-dev/footfall/bench/report"
)

const (
	slices    = 6     // per round; bare and wrapped take turns
	requests  = 2_000 // per slice: short, so that the machine's speed is the same for both
	allocated = 100   // per measurement of allocations: too few for the background to run
)

// Run runs experiment B. It takes about ten seconds a round.
func Run(ctx context.Context, o report.Options) (report.Section, error) {
	section := report.Section{
		ID: "B", Title: "The middleware",
		How: fmt.Sprintf("A request for GET /orders/42 through an http.ServeMux with the route GET /orders/{id}, whose handler writes two bytes, into a writer without cost and with the methods of net/http's writer. "+
			"Bare and wrapped take turns of %d requests, each begun while the process is otherwise idle, so that the figure is the caller's wait and not background work; the figures are wrapped minus bare, medians of %d such turns in each of %d rounds, allocations of %d requests. The middleware is measured as the handler of the http.Server, and below another middleware that changes nothing.", requests, slices, o.Rounds, allocated),
	}
	all, end, err := wrappers()
	end = sync.OnceFunc(end)
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
	end() // the waiting events arrive
	table := report.Table{Columns: []string{"middleware", "ns over bare", "target", "allocs over bare", "target allocs", "below another: ns", "allocs"}}
	for i := range all {
		w := &all[i]
		table.Rows = append(table.Rows, []any{w.name, outermost[i].ns, report.Bound("≤", w.most.ns), outermost[i].allocs, report.Bound("≤", w.most.allocs), within[i].ns, within[i].allocs})
		section.Notes = append(section.Notes, w.notes()...)
	}
	table.Caption = fmt.Sprintf("The bare handler takes %.0f ns and %.0f allocations.", outermost[len(all)].ns, outermost[len(all)].allocs)
	section.Tables = []report.Table{table}
	section.Notes = append(section.Notes, "The targets were set on a machine where httpsnoop took 332 to 422 ns. Compare the ratio.")
	return section, nil
}

// cost is per request.
type cost struct{ ns, allocs float64 }

func direct(handler http.Handler) http.Handler { return handler }

// below wraps a middleware in another one that changes nothing.
func below(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { next.ServeHTTP(w, r) })
}

// measure returns the cost of each wrapper over the bare handler, and then the bare
// handler's cost.
func measure(ctx context.Context, rounds, count int, all []wrapper, place func(http.Handler) http.Handler) ([]cost, error) {
	base := requester(place(mux()))
	made := make([]func(), len(all))
	for i := range all {
		request := requester(place(all[i].wrap(mux())))
		made[i] = func() { all[i].requests++; request() }
		all[i].prepare()
		timed(made[i], count) // fills pools
	}
	over, bare := make([]costs, len(all)), costs{}
	for range rounds {
		for i := range all {
			all[i].prepare()
			for range slices {
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

// once measures count calls of request, with an idle background.
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
