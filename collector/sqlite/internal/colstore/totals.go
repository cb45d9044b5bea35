package colstore

import "github.com/footfall-dev/footfall/collector/store"

// Totals are the totals of a day and of its hours.
type Totals struct {
	Day   store.Totals
	Hours [24]store.Totals
}

// Set sets the totals of a day and its hours.
func (t *Totals) Set(day store.Totals, hours []store.Totals) {
	t.Day = day
	copy(t.Hours[:], hours)
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
