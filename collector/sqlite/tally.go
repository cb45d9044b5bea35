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

// visits tells for each value whether a visitor is there for the first time.
type visits map[uint64]struct{}

func (v visits) count(value, visitor uint32) tally {
	k := uint64(value)<<32 | uint64(visitor)
	if _, met := v[k]; met || visitor == 0 {
		return tally{count: 1}
	}
	v[k] = struct{}{}
	return tally{count: 1, visitors: 1}
}

// totals are those of each hour of a day, and of the day; needs visitor and name.
func (c *columns) totals() (day store.Totals, hours [24]store.Totals) {
	met := make([]int64, len(c.visitor.values)) // the last hour in which it was, from 1
	for i, at := range c.at {
		n := (at - floorDiv(at, msPerDay)*msPerDay) / (msPerDay / 24)
		hour := &hours[n]
		if c.name[i] == 0 {
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

// dimensionColumns are the columns that Top counts, besides visitor and name.
var dimensionColumns = [...]string{
	store.Pages: path, store.Referrers: referrer, store.Sources: source,
	store.Mediums: medium, store.Campaigns: campaign, store.Names: name,
}

// top counts the values of a dimension; needs its column, visitor and name.
func (c *columns) top(by store.Dimension) map[uint32]tally {
	column := *c.column(dimensionColumns[by]).(*ids)
	of, seen := make(map[uint32]tally), make(visits)
	for i, id := range column {
		counts := c.name[i] == 0
		switch by {
		case store.Names:
			counts = !counts
		case store.Sources, store.Mediums, store.Campaigns:
			counts = counts && id != 0
		}
		if counts {
			t := of[id]
			t.add(seen.count(id, c.visitor.of[i]))
			of[id] = t
		}
	}
	return of
}
