package growth

import (
	"math"
	"slices"

	"github.com/footfall-dev/footfall/bench/report"
)

type figures = report.Figures[cell, result]

// The figures of a result.
func cost(r *result) float64    { return r.Cost }
func cpu(r *result) float64     { return r.CPU }
func allocs(r *result) float64  { return r.Allocs }
func refused(r *result) float64 { return r.Refused }
func rss(r *result) float64     { return r.RSS }

func median(f figures, c cell, of func(*result) float64) float64 { return report.Median(f.All(c, of)) }

// line fits cost = base + each × props to the cells with the highest rate, and returns the
// largest relative error. Errors are weighted relative to each cell, so that expensive cells do
// not dominate.
func line(f figures, paced []cell) (base, each, off float64) {
	load := slices.MaxFunc(paced, func(a, b cell) int { return a.Rate - b.Rate }).Rate
	var w, wx, wy, wxx, wxy float64
	for _, c := range paced {
		if c.Rate != load {
			continue
		}
		x, y := float64(c.Props), median(f, c, cost)
		weight := 1 / (y * y)
		w, wx, wy = w+weight, wx+weight*x, wy+weight*y
		wxx, wxy = wxx+weight*x*x, wxy+weight*x*y
	}
	each = (w*wxy - wx*wy) / (w*wxx - wx*wx)
	base = (wy - each*wx) / w
	for _, c := range paced {
		if c.Rate == load {
			off = max(off, math.Abs((base+each*float64(c.Props))/median(f, c, cost)-1))
		}
	}
	return base, each, off
}
