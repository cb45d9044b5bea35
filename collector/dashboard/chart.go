package dashboard

import (
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/footfall-dev/footfall/collector/store"
)

// The chart has two parts: columns of pageviews and visitors above, and below them, hanging
// down, columns of events. Each part has its own scale, and room in proportion to its largest
// count, within bounds. Widths are in percent and heights in pixels, so that the chart fits any width
// without distortion.
const (
	chartTop    = 12.0  // top of the upper scale
	chartBottom = 284.0 // end of the lower scale
	chartGap    = 24.0  // between the parts, for the labels
	bothParts   = chartBottom - chartTop - chartGap
	largePart   = 178.0
	smallPart   = bothParts - largePart
	leastMiddle = 100.0 // room of a part whose middle has a line
	maxLabels   = 6
)

// chart is the data of template parts/chart.html.
type chart struct {
	Title     string
	Columns   []column
	Grid      []gridLine
	Labels    []label
	LabelsY   string
	Hours     bool
	Summary   string
	HasEvents bool // in the lower part
	Alone     bool // the columns above are events, and there is no lower part
	Visitors  bool // the figures of events have visitors
}

// column is a step of time. Horizontal positions are in percent.
type column struct {
	X, Width    string
	SlotX, Slot string // including the gap
	When        string

	Visitors, Pageviews, Events bar
	VisitorN, PageviewN, NamedN int64
}

// bar is the vertical extent of a rectangle.
type bar struct{ Y, Height string }

// gridLine is a horizontal line and its value, "" for none.
type gridLine struct{ Y, TextY, Value string }

// label is a text below the chart.
type label struct{ X, Text, Anchor string }

func newChart(points []store.Point, step store.Step) chart {
	c := chart{Title: "Visitors, pageviews and events over time", Hours: step == store.Hour}
	var most, mostEvents int64
	var sum store.Totals
	for _, p := range points {
		most = max(most, p.Visitors, p.Pageviews)
		mostEvents = max(mostEvents, p.Events)
		sum = plus(sum, p.Totals)
	}
	c.HasEvents = mostEvents > 0
	views, events := parts(most, mostEvents)
	c.Grid = slices.Concat(views.upperGrid(), events.lowerGrid(c.HasEvents))
	for i, p := range points {
		column := newColumn(i, len(points), p, c.when(p.At))
		column.Visitors, column.Pageviews, column.Events = views.above(p.Visitors), views.above(p.Pageviews), events.below(p.Events)
		c.Columns = append(c.Columns, column)
	}
	c.Labels, c.LabelsY = labels(points, c.Hours), views.labelsY()
	c.Summary = plural(sum.Visitors, "visitor") + ", " + plural(sum.Pageviews, "pageview") + " and " +
		plural(sum.Events, "event") + " in " + plural(len(points), c.unit()) + "."
	return c
}

// newEventChart returns a chart of events alone.
func newEventChart(points []store.Point, step store.Step) chart {
	c := chart{Title: "Events over time", Hours: step == store.Hour, Alone: true}
	var most int64
	var sum store.Totals
	for _, p := range points {
		most = max(most, p.Events)
		sum = plus(sum, p.Totals)
	}
	events := part{niceScale(most), largePart}
	c.Grid, c.Visitors = events.upperGrid(), sum.Visitors > 0
	for i, p := range points {
		column := newColumn(i, len(points), p, c.when(p.At))
		column.Events = events.above(p.Events)
		c.Columns = append(c.Columns, column)
	}
	c.Labels, c.LabelsY = labels(points, c.Hours), events.labelsY()
	c.Summary = plural(sum.Events, "event") + " in " + plural(len(points), c.unit()) + "."
	return c
}

// part is the upper or the lower part of a chart.
type part struct {
	scale int64   // the count at the end
	room  float64 // height in pixels
}

// parts returns the upper and the lower part for their largest counts.
func parts(most, mostEvents int64) (views, events part) {
	share := 1.0
	if mostEvents > 0 {
		share = float64(most) / float64(most+mostEvents)
	}
	room := min(max(math.Round(bothParts*share), smallPart), largePart)
	return part{niceScale(most), room}, part{niceScale(mostEvents), bothParts - room}
}

// upperGrid returns the lines of the upper part, from its end to its base.
func (p part) upperGrid() (lines []gridLine) {
	for _, n := range p.marks() {
		lines = append(lines, p.line(n, chartTop+p.room-p.room*float64(n)/2))
	}
	return lines
}

// lowerGrid returns the lines of the lower part: the base, whose count is that of the upper base, and
// with counts the others.
func (p part) lowerGrid(counts bool) []gridLine {
	base := chartBottom - p.room
	lines := []gridLine{{Y: px(base)}}
	if !counts {
		return lines
	}
	for _, n := range p.marks() {
		if n > 0 {
			lines = append(lines, p.line(n, base+p.room*float64(n)/2))
		}
	}
	return lines
}

// marks are the lines of a part, in halves of its scale. A small part has no room for the middle.
func (p part) marks() []int64 {
	if p.room < leastMiddle {
		return []int64{2, 0}
	}
	return []int64{2, 1, 0}
}

func (p part) line(halves int64, y float64) gridLine {
	return gridLine{px(y), px(y + 4), short(p.scale*halves/2, p.scale)}
}

// above returns a bar of the upper part.
func (p part) above(count int64) bar {
	height := height(count, p.scale, p.room)
	return bar{px(chartTop + p.room - height), px(height)}
}

// below returns a bar of the lower part.
func (p part) below(count int64) bar {
	return bar{px(chartBottom - p.room), px(height(count, p.scale, p.room))}
}

// labelsY is the position of the labels below the upper part.
func (p part) labelsY() string { return px(chartTop + p.room + 16) }

// short formats the value of a line. On scales from 10,000 it is in thousands, millions or
// billions, so that it fits beside the chart of a phone.
func short(value, scale int64) string {
	if scale < 10_000 || value == 0 {
		return count(value)
	}
	unit, name := int64(1000), "k"
	switch {
	case scale >= 1e9:
		unit, name = 1e9, "B"
	case scale >= 1e6:
		unit, name = 1e6, "M"
	}
	return strconv.FormatFloat(float64(value)/float64(unit), 'f', -1, 64) + name
}

func (c chart) unit() string {
	if c.Hours {
		return "hour"
	}
	return "day"
}

func (c chart) when(at time.Time) string {
	if c.Hours {
		return at.UTC().Format("Mon 2 Jan, 15:04")
	}
	return at.UTC().Format("Mon 2 Jan 2006")
}

// newColumn returns a column without bars.
func newColumn(i, n int, p store.Point, when string) column {
	slot := 100 / float64(n)
	gap := min(slot*0.24, 0.8)
	return column{
		SlotX: percent(slot * float64(i)), Slot: percent(slot),
		X: percent(slot*float64(i) + gap/2), Width: percent(slot - gap),
		When: when, VisitorN: p.Visitors, PageviewN: p.Pageviews, NamedN: p.Events,
	}
}

// height returns the height of a bar. A count above zero is always visible.
func height(count, scale int64, room float64) float64 {
	if count == 0 {
		return 0
	}
	return max(1.5, room*float64(count)/float64(scale))
}

// niceScale returns the smallest of 2, 4, 6, 8, 10, 12, 16, 20, 40, … that is at least count.
// Half of it is a whole number, too.
func niceScale(count int64) int64 {
	for unit := int64(1); unit < 1e17; unit *= 10 {
		for _, n := range []int64{2, 4, 6, 8, 10, 12, 16} {
			if n*unit >= count {
				return n * unit
			}
		}
	}
	return count
}

// labels returns at most maxLabels, evenly spread and centered on their columns. They are
// short enough for a phone.
func labels(points []store.Point, hours bool) []label {
	every := (len(points) + maxLabels - 1) / maxLabels
	layout := "2 Jan"
	switch {
	case hours:
		every, layout = max(every, 6), "15:04" // 00:00, 06:00, …
	case len(points) > 366:
		layout = "Jan ’06"
	case len(points) > 200:
		layout = "Jan"
	}
	var all []label
	for i := 0; i < len(points); i += max(every, 1) {
		x := 100 * (float64(i) + 0.5) / float64(len(points))
		all = append(all, label{percent(x), points[i].At.UTC().Format(layout), anchor(x)})
	}
	return all
}

// anchor keeps a label at the right edge inside the chart.
func anchor(x float64) string {
	if x > 96 {
		return "end"
	}
	return "middle"
}

func plus(a, b store.Totals) store.Totals {
	return store.Totals{Visitors: a.Visitors + b.Visitors, Pageviews: a.Pageviews + b.Pageviews, Events: a.Events + b.Events}
}

// totalOf returns the sum of points.
func totalOf(points []store.Point) (sum store.Totals) {
	for _, p := range points {
		sum = plus(sum, p.Totals)
	}
	return sum
}

// sparkline is a small chart of pageviews and events, without a scale.
type sparkline struct {
	Columns []column
	Summary string
	Alone   bool // there are events and no pageviews
}

// sparkHeight is the height of a sparkline in pixels.
const sparkHeight = 44

func newSparkline(points []store.Point) sparkline {
	var most int64
	for _, p := range points {
		most = max(most, p.Pageviews+p.Events)
	}
	sum := totalOf(points)
	s := sparkline{Alone: sum.Events > 0 && sum.Pageviews == 0}
	s.Summary = plural(sum.Events, "event") + " in " + plural(len(points), "day")
	if !s.Alone {
		s.Summary = plural(sum.Pageviews, "pageview") + " and " + s.Summary
	}
	slot := 100 / float64(max(len(points), 1))
	for i, p := range points {
		h := max(2, height(p.Pageviews+p.Events, max(most, 1), sparkHeight)) // an empty day is a dash
		s.Columns = append(s.Columns, column{
			X: percent(slot*float64(i) + slot*0.12), Width: percent(slot * 0.76),
			Pageviews: bar{px(sparkHeight - h), px(h)}, PageviewN: p.Pageviews + p.Events,
		})
	}
	return s
}

// share returns the length of a bar in a table, relative to the longest bar.
func share(n, most int64) string {
	if most == 0 {
		return "0%"
	}
	return percent(100 * float64(n) / float64(most))
}

func percent(f float64) string { return strconv.FormatFloat(f, 'f', 3, 64) + "%" }

func px(f float64) string { return strconv.FormatFloat(f, 'f', 1, 64) }
