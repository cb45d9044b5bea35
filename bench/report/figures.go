package report

import "fmt"

// Figures are the results of trials, one per round.
type Figures[Trial comparable, Result any] map[Trial][]*Result

// Measure runs every trial once a round, each round in the opposite direction, so that changes of
// the machine affect all trials.
func Measure[Trial comparable, Result any](rounds int, trials []Trial, run func(Trial) (*Result, error)) (Figures[Trial, Result], error) {
	f := make(Figures[Trial, Result])
	for round := range rounds {
		for i := range trials {
			t := trials[i]
			if round%2 == 1 {
				t = trials[len(trials)-1-i]
			}
			got, err := run(t)
			if err != nil {
				return nil, fmt.Errorf("%+v: %w", t, err)
			}
			f[t] = append(f[t], got)
		}
	}
	return f, nil
}

// All returns a figure of each round of a trial.
func (f Figures[Trial, Result]) All(t Trial, of func(*Result) float64) []float64 {
	values := make([]float64, len(f[t]))
	for i, r := range f[t] {
		values[i] = of(r)
	}
	return values
}

// Median returns the median of a figure over the rounds of a trial, or nil without rounds.
func (f Figures[Trial, Result]) Median(t Trial, of func(*Result) float64) any {
	return medianOrNil(f.All(t, of))
}

// Ratio returns the median of the ratios of a to b in each round, because the machine's speed
// differs between rounds, or nil without rounds.
func (f Figures[Trial, Result]) Ratio(a, b Trial, of func(*Result) float64) any {
	above, below := f.All(a, of), f.All(b, of)
	ratios := above[:min(len(above), len(below))]
	for i := range ratios {
		ratios[i] /= below[i]
	}
	return medianOrNil(ratios)
}

func medianOrNil(values []float64) any {
	if len(values) == 0 {
		return nil
	}
	return Median(values)
}
