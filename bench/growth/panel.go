package growth

import (
	"fmt"
	"strings"
)

// Position of every panel, in units of the picture.
const (
	top    = 70.0
	height = 250.0
)

// panel is a pair of axes.
type panel struct {
	left, width float64
	title, unit string
	x, y        scale
}

func (p *panel) across(v float64) float64 { return p.left + p.x.at(v)*p.width }
func (p *panel) down(v float64) float64   { return top + height - p.y.at(v)*height }

// frame draws the axes.
func (p *panel) frame(s *strings.Builder) {
	fmt.Fprintf(s, `<text x="%.0f" y="28" font-size="15" font-weight="600">%s</text>`+"\n", p.left, p.title)
	fmt.Fprintf(s, `<text x="%.0f" y="50" font-size="12">%s</text>`+"\n", p.left, p.unit)
	for _, v := range p.y.marks() {
		y := p.down(v)
		fmt.Fprintf(s, `<path d="M%.1f %.1fh%.1f" stroke="%s"/><text x="%.1f" y="%.1f" text-anchor="end">%s</text>`+"\n", p.left, y, p.width, grid, p.left-8, y+4, short(v))
	}
	fmt.Fprintf(s, `<path d="M%.1f %.1fh%.1f" stroke="%s"/>`+"\n", p.left, top+height, p.width, ink)
}

// tickX labels a value of the horizontal axis.
func (p *panel) tickX(s *strings.Builder, v float64, name string) {
	x := p.across(v)
	fmt.Fprintf(s, `<path d="M%.1f %.1fv5" stroke="%s"/><text x="%.1f" y="%.1f" text-anchor="middle">%s</text>`+"\n", x, top+height, ink, x, top+height+21, name)
}

// line draws points and labels their end.
func (p *panel) line(s *strings.Builder, points []point, colour, name string) {
	var path strings.Builder
	for i, at := range points {
		fmt.Fprintf(&path, "%c%.1f %.1f", "ML"[min(i, 1)], p.across(at.x), p.down(at.y))
		fmt.Fprintf(s, `<circle cx="%.1f" cy="%.1f" r="3.5" fill="%s"/>`, p.across(at.x), p.down(at.y), colour)
	}
	last := points[len(points)-1]
	fmt.Fprintf(s, `<path d="%s" fill="none" stroke="%s" stroke-width="2"/>`, path.String(), colour)
	fmt.Fprintf(s, `<text x="%.1f" y="%.1f" fill="%s" font-weight="600">%s</text>`+"\n", p.across(last.x)+10, p.down(last.y)+4, colour, name)
}

// level draws a dashed line at a value with a label above or below it.
func (p *panel) level(s *strings.Builder, v, above float64, name string) {
	y := p.down(v)
	fmt.Fprintf(s, `<path d="M%.1f %.1fh%.1f" stroke="%s" stroke-dasharray="5 4"/>`, p.left, y, p.width, ink)
	fmt.Fprintf(s, `<text x="%.1f" y="%.1f" font-size="12" text-anchor="end">%s</text>`+"\n", p.left+p.width, y-above, name)
}
