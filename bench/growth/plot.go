package growth

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Colours that are distinct on a white and on a dark page.
const (
	ink  = "#7d8590"
	grid = "#7d859040"
)

var colours = []string{"#3b82f6", "#10a37f", "#d9822b", "#d6409f"}

// plot draws the table: the caller's cost over load, a line for each number of props, and
// the cost over goroutines.
func plot(f figures, paced, tight []cell) string {
	var s strings.Builder
	s.WriteString(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 900 380" font-family="system-ui, sans-serif" font-size="13" fill="` + ink + `">` + "\n")
	s.WriteString("<title>What Track costs its caller as load, props and goroutines grow</title>\n")
	plotPaced(&s, f, paced)
	plotTight(&s, f, tight)
	s.WriteString("</svg>\n")
	return s.String()
}

func plotPaced(s *strings.Builder, f figures, paced []cell) {
	costs := make([]float64, len(paced))
	for i, c := range paced {
		costs[i] = f.median(c, cost)
	}
	byRate := func(a, b cell) int { return a.Rate - b.Rate }
	p := panel{
		left: 60, width: 330, title: "One goroutine, by events/s offered", unit: "ns per event",
		x: logScale{float64(slices.MinFunc(paced, byRate).Rate), float64(slices.MaxFunc(paced, byRate).Rate)},
		y: logScale{floor(slices.Min(costs)), ceiling(slices.Max(costs))},
	}
	p.frame(s)
	for _, x := range powers(p.x, 10) {
		p.tickX(s, x, short(x))
	}
	for i, props := range propsOf(paced) {
		var points []point
		for _, c := range paced {
			if c.Props == props {
				points = append(points, point{float64(c.Rate), f.median(c, cost)})
			}
		}
		p.line(s, points, colours[i%len(colours)], plural(props, "prop"))
	}
}

func plotTight(s *strings.Builder, f figures, tight []cell) {
	first := f.median(tight[0], cpu)
	points := make([]point, 0, len(tight))
	most := 1.3 * first
	for _, c := range tight[1:] {
		points = append(points, point{float64(c.Goroutines), f.median(c, cpu)})
		most = max(most, f.median(c, cpu))
	}
	p := panel{
		left: 545, width: 250, title: "Tight loops on all cores, by goroutines", unit: "CPU ns per event, consumer included",
		x: logScale{1, float64(tight[len(tight)-1].Goroutines)},
		y: linearScale{0, 1.15 * most},
	}
	p.frame(s)
	for _, point := range points {
		p.tickX(s, point.x, short(point.x))
	}
	p.level(s, first, -16, "one core, one goroutine")
	p.level(s, 1.3*first, 7, "target: 1.3 of it")
	p.line(s, points, colours[0], plural(usualProps, "prop"))
}

// point is a figure.
type point struct{ x, y float64 }

// scale maps values to an axis, from 0 to 1, and returns the values to mark.
type scale interface {
	at(v float64) float64
	marks() []float64
}

type logScale struct{ from, to float64 }

func (l logScale) at(v float64) float64 {
	return math.Log(v/l.from) / math.Log(cmp.Or(l.to/l.from, 1)+1e-9)
}

func (l logScale) marks() []float64 { return powers(l, 10) }

type linearScale struct{ from, to float64 }

func (l linearScale) at(v float64) float64 { return (v - l.from) / (l.to - l.from) }

// marks returns four to eight round numbers.
func (l linearScale) marks() (all []float64) {
	step := math.Pow(10, math.Floor(math.Log10((l.to-l.from)/2)))
	for (l.to-l.from)/step > 8 {
		step *= 2
	}
	for v := math.Ceil(l.from/step) * step; v <= l.to; v += step {
		all = append(all, v)
	}
	return all
}

// powers returns the powers of base between the ends of a scale.
func powers(l scale, base float64) (all []float64) {
	for v := 1.0; v < 1e9; v *= base {
		if at := l.at(v); at >= -1e-6 && at <= 1+1e-6 {
			all = append(all, v)
		}
	}
	return all
}

// floor and ceiling return the powers of ten around v.
func floor(v float64) float64   { return math.Pow(10, math.Floor(math.Log10(v))) }
func ceiling(v float64) float64 { return math.Pow(10, math.Ceil(math.Log10(v))) }

// short formats 100000 as 100k.
func short(v float64) string {
	if v >= 1000 {
		return fmt.Sprintf("%gk", v/1000)
	}
	return fmt.Sprintf("%g", v)
}

func plural(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

func propsOf(paced []cell) (all []int) {
	for _, c := range paced {
		if !slices.Contains(all, c.Props) {
			all = append(all, c.Props)
		}
	}
	return all
}
