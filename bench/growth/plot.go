package growth

import (
	"bytes"
	"fmt"
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Colours that are distinct on a white and on a dark page.
var (
	ink     = color.NRGBA{0x7d, 0x85, 0x90, 0xff}
	colours = []color.Color{
		color.NRGBA{0x3b, 0x82, 0xf6, 0xff}, color.NRGBA{0x10, 0xa3, 0x7f, 0xff},
		color.NRGBA{0xd9, 0x82, 0x2b, 0xff}, color.NRGBA{0xd6, 0x40, 0x9f, 0xff},
	}
)

// picture draws the table: the caller's cost over load, a line for each number of props, and
// the cost over goroutines.
func picture(f figures, paced, tight []cell) (string, error) {
	const width, height = 10 * vg.Inch, 4 * vg.Inch
	byLoad, err := plotPaced(f, paced)
	if err != nil {
		return "", err
	}
	byGoroutines, err := plotTight(f, tight)
	if err != nil {
		return "", err
	}
	svg := vgsvg.New(width, height)
	canvas := draw.New(svg)
	byLoad.Draw(draw.Crop(canvas, 0, -width/2-vg.Inch/4, 0, 0))
	byGoroutines.Draw(draw.Crop(canvas, width/2+vg.Inch/4, 0, 0, 0))
	var text bytes.Buffer
	_, err = svg.WriteTo(&text)
	return text.String(), err
}

func plotPaced(f figures, paced []cell) (*plot.Plot, error) {
	p := newPlot("One goroutine", "events/s offered", "ns per event")
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	for i, props := range propCounts {
		var points plotter.XYs
		for _, c := range paced {
			if c.Props == props {
				points = append(points, plotter.XY{X: float64(c.Rate), Y: median(f, c, cost)})
			}
		}
		if err := addLine(p, points, colours[i%len(colours)], plural(props, "prop")); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func plotTight(f figures, tight []cell) (*plot.Plot, error) {
	p := newPlot("Tight loops on all cores", "goroutines", "CPU ns per event, consumer included")
	var points plotter.XYs
	for _, c := range tight[1:] {
		points = append(points, plotter.XY{X: float64(c.Goroutines), Y: median(f, c, cpu)})
	}
	first := median(f, tight[0], cpu)
	if err := addLine(p, points, colours[0], plural(usualProps, "prop")); err != nil {
		return nil, err
	}
	addLevel(p, first, 2, "one goroutine on one core")
	addLevel(p, 1.3*first, 6, "target: 1.3 of it")
	p.Y.Min = 0
	p.Legend.Top = false
	return p, nil
}

// newPlot returns a plot with a logarithmic horizontal axis.
func newPlot(title, x, y string) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = color.Transparent
	p.Title.Text, p.Title.TextStyle.Color = title, ink
	for axis, label := range map[*plot.Axis]string{&p.X: x, &p.Y: y} {
		axis.Label.Text, axis.Label.TextStyle.Color = label, ink
		axis.Color, axis.Tick.Color, axis.Tick.Label.Color = ink, ink, ink
	}
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	p.Legend.Top, p.Legend.TextStyle.Color = true, ink
	return p
}

func addLine(p *plot.Plot, points plotter.XYs, colour color.Color, name string) error {
	line, dots, err := plotter.NewLinePoints(points)
	if err != nil {
		return err
	}
	line.Color, dots.Color, dots.Shape = colour, colour, draw.CircleGlyph{}
	p.Add(line, dots)
	p.Legend.Add(name, line)
	return nil
}

// addLevel adds a dashed horizontal line.
func addLevel(p *plot.Plot, y, dash float64, name string) {
	level := plotter.NewFunction(func(float64) float64 { return y })
	level.Color, level.Dashes = ink, []vg.Length{vg.Points(dash), vg.Points(3)}
	p.Add(level)
	p.Legend.Add(name, level)
	p.Y.Max = max(p.Y.Max, 1.15*y)
}

func plural(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
