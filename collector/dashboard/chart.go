package dashboard

import (
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/footfall-dev/footfall/collector/internal/calendar"
	"github.com/footfall-dev/footfall/collector/store"
)

// The chart has two parts: columns of pageviews and visitors above, and below them, hanging
// down, columns of events. Each part has its own scale, and room in proportion to its largest
// count, within bounds. Widths are in percent and heights in pixels, so that the chart fits any width
// without distortion.
const (
	chartTop    = 12.0  // top of the upper scale
	chartBottom = 284.0 // end of the lower scale
	chartGap    = 24.0  // between the parts; has the labels
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
	Lines     []segment
	Labels    []label
	LabelsY   string
	Unit      string // header of the table of the figures
	Summary   string
	HasEvents bool // in the lower part
	Alone     bool // the columns above are events, and there is no lower part
	Visitors  bool // the figures of events have visitors
	Dots      bool // the line of visitors has a dot in each column
	Compared  bool // columns have earlier figures
}

// column is a step of time. Horizontal positions are in percent.
type column struct {
	X, Width    string
	SlotX, Slot string // including the gap
	Middle      string
	When        string
	Link        string // to the page with these days only; "" for an hour
	Open        bool   // it is not over

	Visitors, Pageviews, Events bar
	VisitorN, PageviewN, NamedN int64

	Then *store.Totals // of the column to compare with; nil for none
}

// segment is a part of a line between the middles of two columns.
type segment struct{ Class, X1, X2, Y1, Y2 string }

// bar is the vertical extent of a rectangle.
type bar struct{ Y, Height string }

// gridLine is a horizontal line and its value, "" for none.
type gridLine struct{ Y, TextY, Value string }

// label is a text below the chart.
type label struct{ X, Text, Anchor string }

// mostDots is how many columns have dots.
const mostDots = 62

// newChart returns the chart of a range. then has the points to compare with, if there are any.
func newChart(points, then []store.Point, p period) chart {
	points, then = p.Unit.ColumnsOf(points), p.Unit.ColumnsOf(then)
	c := chart{Title: "Visitors, pageviews and events over time", Unit: headerOf(p.Unit, p.Zone), Compared: then != nil}
	var most, mostEvents int64
	for _, p := range slices.Concat(points, then) {
		most = max(most, p.Visitors, p.Pageviews)
		mostEvents = max(mostEvents, p.Events)
	}
	sum := totalOf(points)
	c.HasEvents, c.Dots = mostEvents > 0, len(points) <= mostDots && sum.Visitors > 0
	views, events := parts(most, mostEvents)
	c.Grid = slices.Concat(views.upperGrid(), events.lowerGrid(c.HasEvents))
	c.Columns = p.newColumns(points, then)
	for i, p := range points {
		column := &c.Columns[i]
		column.Visitors, column.Pageviews, column.Events = views.above(p.Visitors), views.above(p.Pageviews), events.below(p.Events)
	}
	c.Lines = joined("earlier", len(points), then, func(t store.Totals) string { return views.above(t.Pageviews).Y })
	if sum.Visitors > 0 {
		begun := slices.IndexFunc(points, func(point store.Point) bool { return !p.begun(point.At) })
		if begun < 0 {
			begun = len(points)
		}
		c.Lines = append(c.Lines, joined("visitors", len(points), points[:begun], func(t store.Totals) string { return views.above(t.Visitors).Y })...)
	}
	c.Labels, c.LabelsY = labels(points, p.Unit), views.labelsY()
	c.Summary = plural(sum.Pageviews, "pageview") + " and " + plural(sum.Events, "event") + " in " + plural(len(points), string(p.Unit)) + "."
	if p.Unit != calendar.Hours { // a visitor of several hours is one
		c.Summary = plural(sum.Visitors, "visitor") + ", " + c.Summary
	}
	return c
}

// newEventChart returns a chart of events alone.
func newEventChart(points, then []store.Point, p period) chart {
	points, then = p.Unit.ColumnsOf(points), p.Unit.ColumnsOf(then)
	c := chart{Title: "Events over time", Unit: headerOf(p.Unit, p.Zone), Alone: true, Compared: then != nil}
	var most int64
	for _, p := range slices.Concat(points, then) {
		most = max(most, p.Events)
	}
	sum := totalOf(points)
	events := part{niceScale(most), largePart}
	c.Grid, c.Visitors = events.upperGrid(), sum.Visitors > 0
	c.Columns = p.newColumns(points, then)
	for i, p := range points {
		c.Columns[i].Events = events.above(p.Events)
	}
	c.Lines = joined("earlier", len(points), then, func(t store.Totals) string { return events.above(t.Events).Y })
	c.Labels, c.LabelsY = labels(points, p.Unit), events.labelsY()
	c.Summary = plural(sum.Events, "event") + " in " + plural(len(points), string(p.Unit)) + "."
	return c
}

// joined connects the figures of the first n points.
func joined(class string, n int, of []store.Point, y func(store.Totals) string) (all []segment) {
	for i := 1; i < min(n, len(of)); i++ {
		all = append(all, segment{class, middle(i-1, n), middle(i, n), y(of[i-1].Totals), y(of[i].Totals)})
	}
	return all
}

// middle returns the position of the middle of a column.
func middle(i, n int) string { return percent(100 * (float64(i) + 0.5) / float64(n)) }

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

// labelOfUnit is the name of the unit on the page.
func labelOfUnit(u calendar.Unit) string {
	return map[calendar.Unit]string{calendar.Hours: "Hours", calendar.Days: "Days", calendar.Weeks: "Weeks", calendar.Months: "Months"}[u]
}

// headerOf is the header of the column of times in a table.
func headerOf(u calendar.Unit, zone *time.Location) string {
	return map[calendar.Unit]string{calendar.Hours: "Hour", calendar.Days: "Day", calendar.Weeks: "Week from", calendar.Months: "Month"}[u] + " (" + zone.String() + ")"
}

// when names a column.
func when(u calendar.Unit, at time.Time) string {
	switch u {
	case calendar.Hours:
		return at.Format("Mon 2 Jan, 15:04")
	case calendar.Months:
		return at.Format("January 2006")
	}
	return at.Format("Mon 2 Jan 2006")
}

// newColumns returns columns without bars.
func (p period) newColumns(points, then []store.Point) (all []column) {
	slot := 100 / float64(len(points))
	gap := min(slot*0.24, 0.8)
	for i, point := range points {
		c := column{
			SlotX: percent(slot * float64(i)), Slot: percent(slot), Middle: middle(i, len(points)),
			X: percent(slot*float64(i) + gap/2), Width: percent(slot - gap),
			When: when(p.Unit, point.At), VisitorN: point.Visitors, PageviewN: point.Pageviews, NamedN: point.Events,
			Open: !p.ended(point.At),
		}
		if days, whole := p.Unit.SpanOf(point.At, p.Span); whole && days != p.Span {
			c.Link = p.showing(days)
		}
		if i < len(then) {
			c.Then = &then[i].Totals
		}
		all = append(all, c)
	}
	return all
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
func labels(points []store.Point, u calendar.Unit) []label {
	if len(points) == 0 { // a day that the zone left out
		return nil
	}
	every := (len(points) + maxLabels - 1) / maxLabels
	layout := "2 Jan"
	switch {
	case u == calendar.Hours:
		every, layout = max(every, 6), "15:04" // 00:00, 06:00, …
	case u == calendar.Months && len(points) <= 12 || u == calendar.Days && len(points) > 200 && len(points) <= 366:
		layout = "Jan"
	case u == calendar.Months || calendar.DaysBetween(points[0].At, points[len(points)-1].At) > 366:
		layout = "Jan ’06"
	}
	var all []label
	for i := 0; i < len(points); i += max(every, 1) {
		x := 100 * (float64(i) + 0.5) / float64(len(points))
		all = append(all, label{percent(x), points[i].At.Format(layout), anchor(x)})
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

// totalOf returns the sum of points.
func totalOf(points []store.Point) (sum store.Totals) {
	for _, p := range points {
		sum = sum.Plus(p.Totals)
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
