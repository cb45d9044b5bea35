package post

import "github.com/footfall-dev/footfall/bench/report"

// median returns the median of a figure over the rounds of a trial, or nil without rounds.
func (f figures) median(t trial, of func(*result) float64) any {
	results := f[t]
	if len(results) == 0 {
		return nil
	}
	values := make([]float64, len(results))
	for i, r := range results {
		values[i] = of(r)
	}
	return report.Median(values)
}

// ratio returns the median of the ratios of a to b in each round.
func (f figures) ratio(a, b trial, of func(*result) float64) any {
	n := min(len(f[a]), len(f[b]))
	if n == 0 {
		return nil
	}
	values := make([]float64, n)
	for i := range n {
		values[i] = of(f[a][i]) / of(f[b][i])
	}
	return report.Median(values)
}
