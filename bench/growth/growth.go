// Package growth measures how the caller's cost grows with the rate of events, the number of
// props, and the number of goroutines.
package growth

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/footfall-dev/footfall/bench/report"
)

// cell is one situation of a caller, measured in its own process.
type cell struct {
	Rate       int // events a second; zero for a tight loop
	Props      int
	Goroutines int
	Cores      int // that the process may use
	For        time.Duration
}

// Rates differ by factors of ten, so that any growth with the rate is visible.
var (
	rates      = []int{100, 1_000, 10_000, 100_000}
	propCounts = []int{1, 4, 10, 30}
	goroutines = []int{1, 2, 4, 16, 64, 256}
)

// usualProps is the number of props while the number of goroutines varies.
const usualProps = 4

// paced returns the cells with a fixed rate of events.
func paced(rates []int, long time.Duration) (all []cell) {
	for _, props := range propCounts {
		for _, rate := range rates {
			enough := long
			if rate < 1_000 {
				enough = 2 * long // for more than a few bursts
			}
			all = append(all, cell{rate, props, 1, runtime.NumCPU(), enough})
		}
	}
	return all
}

// tight returns the cells in a tight loop. The first has one goroutine on one core, shared with
// the consumer; the others share all cores with it. So all cores are always busy with the same
// work.
func tight(goroutines []int, long time.Duration) (all []cell) {
	all = append(all, cell{0, usualProps, 1, 1, long})
	for _, n := range goroutines {
		all = append(all, cell{0, usualProps, n, runtime.NumCPU(), long})
	}
	return all
}

// Run runs experiment F. It takes about 25 s a round.
func Run(ctx context.Context, o report.Options) (report.Section, error) {
	return runAll(ctx, o, paced(rates, time.Second), tight(goroutines, 500*time.Millisecond))
}

func runAll(ctx context.Context, o report.Options, paced, tight []cell) (s report.Section, err error) {
	f, err := report.Measure(o.Rounds, append(paced, tight...), func(c cell) (*result, error) {
		got, err := c.run(ctx)
		if err == nil {
			o.Log("%d/s, %d props, %d goroutines on %d cores: %.0f ns, %.0f ns CPU, peak RSS %.0f MiB", c.Rate, c.Props, c.Goroutines, c.Cores, got.Cost, got.CPU, got.RSS)
		}
		return got, err
	})
	if err != nil {
		return s, fmt.Errorf("growth: %w", err)
	}
	svg, err := picture(f, paced, tight)
	if err != nil {
		return s, err
	}
	return report.Section{
		ID: "F", Title: "Cost as work grows", How: how,
		Tables: []report.Table{table(f, paced, tight)},
		Notes:  notes(f, paced),
		Plots:  map[string]string{"growth.svg": svg},
	}, nil
}

const how = "Each row is a separate process with a Footfall whose transport settles every event at once. " +
	"With a rate, Footfall has its default configuration, and one goroutine tracks in bursts of 16, each timed; the figure is the median burst, per event. " +
	"Without a rate, its queue holds 262,144 events, goroutines track in a tight loop and yield after each burst unless the consumer has a separate core, and all cores are busy. The figure is then the processor time of the whole process per event, including the consumer, in every row; the next column is wall time × cores ÷ events, which also counts waiting and other work of the machine. " +
	"Medians over the rounds; the ratio is the median of the rounds' ratios, and peak RSS the maximum."

func table(f figures, paced, tight []cell) report.Table {
	t := report.Table{Columns: []string{
		"events/s offered", "props", "goroutines", "cores", "ns per event", "over first", "target", "wall ns × cores", "allocs", "refused %", "peak RSS MiB",
	}}
	for _, c := range paced {
		first := paced[slices.IndexFunc(paced, func(other cell) bool { return other.Props == c.Props })]
		t.Rows = append(t.Rows, row(f, c.Rate, c, first, cost, "flat", nil))
	}
	for _, c := range tight {
		t.Rows = append(t.Rows, row(f, "all that go", c, tight[0], cpu, "≤ 1.3", median(f, c, cost)))
	}
	return t
}

// row returns the figures of a cell, and the ratio of its main one to the first cell's.
func row(f figures, offered any, c, first cell, of func(*result) float64, wanted string, wall any) []any {
	var over, target any
	if c != first {
		over, target = f.Ratio(c, first, of), wanted
	}
	return []any{
		offered, c.Props, c.Goroutines, c.Cores, median(f, c, of), over, target, wall,
		median(f, c, allocs), median(f, c, refused), slices.Max(f.All(c, rss)),
	}
}

func notes(f figures, paced []cell) []string {
	base, each, off := line(f, paced)
	return []string{
		fmt.Sprintf("At the greatest load an event costs about %.0f ns and %.0f ns for each prop; no number of props is further than %.0f %% from that line.", base, each, 100*off),
		"A rare burst finds cold caches and must wake a sender, so the cost falls as the rate grows. The target is that it does not rise.",
		"The props are made before the measurement: in turn a short string, an int, a string of three letters and a float. Allocations are of the whole process, per event.",
	}
}
