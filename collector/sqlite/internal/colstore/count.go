package colstore

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/footfall-dev/footfall/collector/store"
)

// Counter counts the events of days for one figure or table.
type Counter interface {
	// Columns returns the columns that Add needs, and whether it needs the texts of the paths.
	Columns() (of []Column, pages bool)

	// Add counts the events of a batch. Counters count a batch concurrently, and must not change it.
	Add(b *Batch) error

	// EndDay ends a day. The numbers of its visitors are below visitors.
	EndDay(visitors int)
}

// Batch are some events of a day, in order.
type Batch struct {
	*Columns
	visitors  []uint32 // number of each event's visitor, the same in all batches of a day; 0 for none
	pageviews []uint32 // rows of the pageviews
	events    []uint32 // rows of the events with a name
}

func newBatch(c *Columns, visitors []uint32) *Batch {
	b := &Batch{Columns: c, visitors: visitors}
	for row := range visitors {
		if c.pageview(row) {
			b.pageviews = append(b.pageviews, uint32(row))
		} else {
			b.events = append(b.events, uint32(row))
		}
	}
	return b
}

// Needs returns the columns of several counters, and whether one needs the texts of the paths.
func Needs(of []Counter) (columns []Column, pages bool) {
	columns = []Column{Visitor, Name}
	for _, k := range of {
		more, texts := k.Columns()
		columns, pages = append(columns, more...), pages || texts
	}
	slices.Sort(columns)
	return slices.Compact(columns), pages
}

// Count counts the events of a day with several counters in one pass.
func Count(day Batches, with ...Counter) error {
	var visitors dayVisitors
	for c, err := range day {
		if err != nil {
			return err
		}
		if c.Len() == 0 {
			continue
		}
		if err := countBatch(newBatch(c, visitors.rowsOf(c)), with); err != nil {
			return err
		}
	}
	for _, k := range with {
		k.EndDay(len(visitors.values))
	}
	return nil
}

// countBatch lets all processors count a batch.
func countBatch(b *Batch, with []Counter) error {
	var next atomic.Int64
	var counting sync.WaitGroup
	errs := make([]error, len(with))
	for range min(runtime.GOMAXPROCS(0), len(with)) {
		counting.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(with); i = int(next.Add(1)) - 1 {
				errs[i] = add(with[i], b)
			}
		})
	}
	counting.Wait()
	return errors.Join(errs...)
}

// add returns a panic as an error: in a separate goroutine it would end the process, unlike in the goroutine of a request.
func add(k Counter, b *Batch) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("counting events: panic: %v\n%s", p, debug.Stack())
		}
	}()
	return k.Add(b)
}

// dayVisitors numbers the visitors of a day.
type dayVisitors struct{ dictionary[uint64] }

// rowsOf returns the number of each event's visitor. The values of the first batch keep their positions, so a day with one batch
// needs no index.
func (d *dayVisitors) rowsOf(c *Columns) []uint32 {
	if len(d.values) == 0 {
		d.values = c.visitor.values
		return c.visitor.rows
	}
	d.values = slices.Clip(d.values) // shared with the first batch
	moved := make([]uint32, len(c.visitor.values))
	rows := make([]uint32, len(c.visitor.rows))
	for i, v := range c.visitor.rows {
		if v != 0 && moved[v] == 0 {
			moved[v] = d.member(c.visitor.values[v])
		}
		rows[i] = moved[v]
	}
	return rows
}

// TotalsCounter counts the totals of a day, and of its hours if it has their starts.
type TotalsCounter struct {
	Counts store.Counts
	Hours  []int64                                      // in order; milliseconds since 1970
	Each   func(day store.Totals, hours []store.Totals) // is called at the end of the day

	day   store.Totals
	hours []store.Totals
	met   []int // a visitor's last hour, from 1
}

// HoursOf returns the starts of the hours of a UTC day.
func HoursOf(day int64) (starts []int64) {
	for hour := range int64(24) {
		starts = append(starts, day*MsPerDay+hour*(MsPerDay/24))
	}
	return starts
}

// Columns implements [Counter].
func (t *TotalsCounter) Columns() (of []Column, pages bool) {
	if len(t.Hours) > 0 {
		return []Column{At}, false
	}
	return nil, false
}

// Add implements [Counter].
func (t *TotalsCounter) Add(b *Batch) error {
	t.begin()
	n := 0
	for i, v := range b.visitors {
		pageview := b.pageview(i)
		if t.Counts != store.All && pageview != (t.Counts == store.Pageviews) {
			continue
		}
		for n+1 < len(t.Hours) && b.at[i] >= t.Hours[n+1] {
			n++
		}
		t.count(pageview, v, n)
	}
	return nil
}

func (t *TotalsCounter) begin() {
	if t.hours == nil {
		t.hours = make([]store.Totals, max(1, len(t.Hours)))
	}
}

func (t *TotalsCounter) count(pageview bool, visitor uint32, n int) {
	day, hour := &t.day, &t.hours[n]
	if pageview {
		day.Pageviews++
		hour.Pageviews++
	} else {
		day.Events++
		hour.Events++
	}
	if visitor == 0 {
		return
	}
	if int(visitor) >= len(t.met) {
		t.met = append(t.met, make([]int, int(visitor)+1)...)
	}
	if t.met[visitor] == 0 {
		day.Visitors++
	}
	if t.met[visitor] != n+1 {
		hour.Visitors++
	}
	t.met[visitor] = n + 1
}

// EndDay implements [Counter].
func (t *TotalsCounter) EndDay(int) {
	t.begin()
	t.Each(t.day, t.hours)
	t.day, t.hours, t.met = store.Totals{}, nil, nil
}

// GoalCounter counts the events of several matches.
type GoalCounter struct {
	match *Matcher
	texts Texts
	all   []Tally // by match
	met   []uint8 // the matches that each visitor has met
}

// NewGoalCounter returns a counter of the matches of a matcher.
func NewGoalCounter(of *Matcher, texts Texts) *GoalCounter {
	return &GoalCounter{match: of, texts: texts, all: make([]Tally, len(of.of))}
}

// Tallies returns the counts of all days, by match.
func (g *GoalCounter) Tallies() []Tally { return g.all }

// Columns implements [Counter].
func (g *GoalCounter) Columns() (of []Column, pages bool) {
	return g.match.Columns(), g.match.NeedsPages()
}

// Add implements [Counter].
func (g *GoalCounter) Add(b *Batch) error {
	masks, err := g.match.masks(b.Columns, g.texts)
	if err != nil {
		return err
	}
	for row, mask := range masks {
		if mask == 0 {
			continue
		}
		v := b.visitors[row]
		if int(v) >= len(g.met) {
			g.met = append(g.met, make([]uint8, int(v)+1)...)
		}
		for i := range g.all {
			bit := uint8(1) << i
			if mask&bit == 0 {
				continue
			}
			g.all[i].Count++
			if v != 0 && g.met[v]&bit == 0 {
				g.all[i].Visitors++
			}
		}
		g.met[v] |= mask
	}
	return nil
}

// EndDay implements [Counter].
func (g *GoalCounter) EndDay(int) { g.met = nil }
