package colstore

import (
	"math"
	"math/bits"

	"github.com/footfall-dev/footfall/collector/store"
)

// Funnel follows visitors through the steps of a funnel, each a match of a [Matcher]. It holds
// how far each visitor has come. Of several ways to a step only the latest to begin matters,
// because it has the most time left.
type Funnel struct {
	index  map[uint64]int32 // position of a visitor in began, from 1
	began  []began          // an entry for each step of each visitor
	result store.Funnel
}

// began holds when the latest way through a step began. A step must be later than the
// previous one, so the value from before the current time is kept, too.
type began struct {
	since  int64 // time of the event that set now
	now    int64
	before int64
}

// never is before all times.
const never = math.MinInt64

// NewFunnel returns a funnel of at most MaxMatches steps.
func NewFunnel(steps int) *Funnel {
	return &Funnel{index: make(map[uint64]int32), result: store.Funnel{Steps: make([]store.FunnelStep, steps)}}
}

// Result returns the counts of the events that were added.
func (f *Funnel) Result() store.Funnel { return f.result }

// Add adds events that match a step, as [Matcher.Select] keeps them. It needs At. Batches must be
// in order.
func (f *Funnel) Add(c *Columns) {
	steps := f.result.Steps
	index := make([]int32, len(c.visitor.values)) // avoids most of the map look-ups
	var counts [1 << MaxMatches]int64             // of events with each mask
	for i, mask := range c.masks {
		counts[mask]++
		v := c.visitor.rows[i]
		if v == 0 {
			f.result.Visitorless++
			continue
		}
		if index[v] == 0 {
			index[v] = f.position(c.visitor.values[v])
		}
		f.takeSteps(index[v], mask, c.at[i])
	}
	for mask, n := range counts {
		for step := range steps {
			steps[step].Count += n * int64(mask>>step&1)
		}
	}
}

// position returns the position of a visitor in began.
func (f *Funnel) position(visitor uint64) int32 {
	at, known := f.index[visitor]
	if !known {
		at = int32(len(f.index)) + 1
		f.index[visitor] = at
		for range f.result.Steps {
			f.began = append(f.began, began{never, never, never})
		}
	}
	return at
}

// takeSteps takes all steps that match an event at a time.
func (f *Funnel) takeSteps(position int32, mask uint8, at int64) {
	taken := f.result.Steps
	steps := f.began[int(position-1)*len(taken):][:len(taken)]
	for ; mask != 0; mask &= mask - 1 {
		i := bits.TrailingZeros8(mask)
		start := at
		if i > 0 {
			start = steps[i-1].earlierThan(at)
		}
		if start == never || at-start > MsPerDay {
			continue
		}
		if steps[i].now == never {
			taken[i].Visitors++
		}
		steps[i].set(start, at)
	}
}

// earlierThan returns when the latest way began whose step was taken before a time.
func (b *began) earlierThan(at int64) int64 {
	if b.since == at {
		return b.before
	}
	return b.now
}

func (b *began) set(start, at int64) {
	if b.since != at {
		b.since, b.before = at, b.now
	}
	b.now = max(b.now, start)
}
