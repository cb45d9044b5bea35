package colstore

import "github.com/footfall-dev/footfall/collector/store"

// Totals are the totals of a day and of its hours.
type Totals struct {
	Day   store.Totals
	Hours [24]store.Totals
}

// Totals counts the day and each of its hours. It needs At, Visitor and Name.
func (c *Columns) Totals() (t Totals) {
	met := make([]int64, len(c.visitor.values)) // a visitor's last hour, from 1
	day := &t.Day
	for i, at := range c.at {
		n := (at - DayOf(at)*MsPerDay) / (MsPerDay / 24)
		hour := &t.Hours[n]
		if c.pageview(i) {
			day.Pageviews++
			hour.Pageviews++
		} else {
			day.Events++
			hour.Events++
		}
		v := c.visitor.rows[i]
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
	return t
}

// Encode returns the part PartTotals of a rollup.
func (t *Totals) Encode() []byte {
	var e encoder
	for _, t := range append([]store.Totals{t.Day}, t.Hours[:]...) {
		e.number(uint64(t.Visitors))
		e.number(uint64(t.Pageviews))
		e.number(uint64(t.Events))
	}
	return e
}

// DecodeTotals decodes the part PartTotals of a rollup.
func DecodeTotals(data []byte) (t Totals, err error) {
	d := decoder{data: data}
	next := func() store.Totals {
		return store.Totals{Visitors: int64(d.number()), Pageviews: int64(d.number()), Events: int64(d.number())}
	}
	t.Day = next()
	for i := range t.Hours {
		t.Hours[i] = next()
	}
	return t, d.err()
}
