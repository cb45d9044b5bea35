package sqlite

import (
	"context"
	"errors"
	"math"

	"github.com/footfall-dev/footfall/collector/store"
)

// maxSteps is the number of bits in a mask.
const maxSteps = 8

// never is before all times.
const never = math.MinInt64

// Funnel implements store.Store.
func (s *Store) Funnel(ctx context.Context, q store.Query, steps []store.Match) (store.Funnel, error) {
	if len(steps) > maxSteps {
		return store.Funnel{}, errors.New("sqlite: a funnel has eight steps at most")
	}
	f := store.Funnel{Steps: make([]store.FunnelStep, len(steps))}
	ways := newWays(len(steps))
	err := s.read(ctx, q, func(r *reading) error {
		match, err := r.matcher(steps...)
		if err != nil {
			return err
		}
		return r.days(func(d *span) error {
			c, err := d.matching(match, at)
			if err != nil {
				return err
			}
			ways.walk(c, &f)
			return nil
		})
	})
	if err != nil {
		return store.Funnel{}, err
	}
	for step, visitors := range ways.taken {
		f.Steps[step].Visitors = visitors
	}
	return f, nil
}

// ways holds how far each visitor has come. Of several ways to a step only the latest to
// begin matters, because it has the most time left.
type ways struct {
	index map[uint64]int32 // position of a visitor in began, from 1
	began []began          // len(taken) entries for each visitor
	taken []int64          // number of visitors that took a step
}

// began holds when the latest way through a step began. A step must be later than the
// previous one, so the value from before the current time is kept, too.
type began struct {
	since  int64 // time of the event that set now
	now    int64
	before int64
}

func newWays(steps int) *ways {
	return &ways{index: make(map[uint64]int32), taken: make([]int64, steps)}
}

// walk adds the events of a day that match a step. Days must be in order.
func (w *ways) walk(c *columns, f *store.Funnel) {
	index := make([]int32, len(c.visitor.values)) // avoids most of the map look-ups
	for i, mask := range c.masks {
		for step := range f.Steps {
			f.Steps[step].Count += int64(mask >> step & 1)
		}
		v := c.visitor.of[i]
		if v == 0 {
			f.Visitorless++
			continue
		}
		if index[v] == 0 {
			index[v] = w.of(c.visitor.values[v])
		}
		w.step(index[v], mask, c.at[i])
	}
}

// of returns the position of a visitor's ways.
func (w *ways) of(visitor uint64) int32 {
	at, known := w.index[visitor]
	if !known {
		at = int32(len(w.index)) + 1
		w.index[visitor] = at
		for range w.taken {
			w.began = append(w.began, began{never, never, never})
		}
	}
	return at
}

// step takes all steps that match an event at a time.
func (w *ways) step(visitor int32, mask uint8, at int64) {
	steps := w.began[int(visitor-1)*len(w.taken):][:len(w.taken)]
	for i := range steps {
		if mask>>i&1 == 0 {
			continue
		}
		start := at
		if i > 0 {
			start = steps[i-1].earlierThan(at)
		}
		if start == never || at-start > msPerDay {
			continue
		}
		if steps[i].now == never {
			w.taken[i]++
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
