package sqlite

import (
	"github.com/footfall-dev/footfall/collector/store"
)

// tally is how often a value was counted, and of how many visitors.
type tally struct {
	count, visitors int64
}

func (t *tally) add(u tally) {
	t.count += u.count
	t.visitors += u.visitors
}

// tallies counts each of n values, and the different visitors of each: row by row, by the
// indexes of both. The rows are first put in the order of their values, without which
// each pair of a value and a visitor would have to be remembered.
func tallies(n int, values, visitors []uint32, allVisitors int) []tally {
	all := make([]tally, n)
	for _, v := range values {
		all[v].count++
	}
	ends := make([]uint32, n) // of the rows of a value: at first where they begin
	begin := uint32(0)
	for v := range all {
		ends[v] = begin
		begin += uint32(all[v].count)
	}
	ordered := make([]uint32, len(values))
	for row, v := range values {
		ordered[ends[v]] = visitors[row]
		ends[v]++
	}
	met := make([]uint32, allVisitors) // the last value, from 1, where a visitor was
	row := uint32(0)
	for v := range all {
		for ; row < ends[v]; row++ {
			if visitor := ordered[row]; visitor != 0 && met[visitor] != uint32(v)+1 {
				met[visitor] = uint32(v) + 1
				all[v].visitors++
			}
		}
	}
	return all
}

// totals are those of each hour of a day, and of the day; needs at, visitor and name.
func (c *columns) totals() (day store.Totals, hours [24]store.Totals) {
	met := make([]int64, len(c.visitor.values)) // the last hour in which it was, from 1
	for i, at := range c.at {
		n := (at - dayBegin(at)) / (msPerDay / 24)
		hour := &hours[n]
		if c.pageview(i) {
			day.Pageviews++
			hour.Pageviews++
		} else {
			day.Events++
			hour.Events++
		}
		v := c.visitor.of[i]
		if v == 0 {
			continue
		}
		if met[v] == 0 {
			day.Visitors++
		}
		if met[v] != n+1 {
			hour.Visitors++
		}
		met[v] = n + 1
	}
	return day, hours
}
