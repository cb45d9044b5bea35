package sqlite

import (
	"github.com/footfall-dev/footfall/collector/store"
)

// tally is the number of events with a value, and of their visitors.
type tally struct {
	count, visitors int64
}

func (t *tally) add(u tally) {
	t.count += u.count
	t.visitors += u.visitors
}

// tallies counts the events and the distinct visitors of each of n values. values and
// visitors hold the indexes of each row. It sorts the rows by value first, to avoid a set of
// all pairs of value and visitor.
func tallies(n int, values, visitors []uint32, allVisitors int) []tally {
	all := make([]tally, n)
	for _, v := range values {
		all[v].count++
	}
	ends := make([]uint32, n) // end of a value's rows; at first their start
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
	met := make([]uint32, allVisitors) // last value, from 1, at which a visitor was seen
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

// totals counts the day and each of its hours. It needs at, visitor and name.
func (c *columns) totals() (day store.Totals, hours [24]store.Totals) {
	met := make([]int64, len(c.visitor.values)) // a visitor's last hour, from 1
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
