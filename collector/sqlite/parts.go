package sqlite

import (
	"time"

	"github.com/footfall-dev/footfall/collector/store"
)

// This file encodes the parts of pieces and rollups as variable-length numbers. Each column
// begins with its length.

func timeOf(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

func encodeTotals(day store.Totals, hours [24]store.Totals) []byte {
	var e encoder
	for _, t := range append([]store.Totals{day}, hours[:]...) {
		e.count(t.Visitors)
		e.count(t.Pageviews)
		e.count(t.Events)
	}
	return e
}

func decodeTotals(data []byte) (day store.Totals, hours [24]store.Totals, err error) {
	d := decoder{rest: data}
	next := func() store.Totals { return store.Totals{Visitors: d.count(), Pageviews: d.count(), Events: d.count()} }
	day = next()
	for i := range hours {
		hours[i] = next()
	}
	return day, hours, d.err()
}

// encodeTimes encodes times of one day as differences, the first one from the start of the
// day.
func encodeTimes(at times) []byte {
	var e encoder
	e.number(uint64(len(at)))
	last := int64(0)
	for i, t := range at {
		if i == 0 {
			last = dayBegin(t)
		}
		e.number(uint64(t - last))
		last = t
	}
	return e
}

func (d *decoder) times(begin int64) times {
	column := make(times, d.length())
	last := begin
	for i := range column {
		last += d.count()
		column[i] = last
	}
	return column
}

func (e *encoder) indexes(column []uint32) {
	e.number(uint64(len(column)))
	for _, index := range column {
		e.number(uint64(index))
	}
}

// indexes decodes indexes of a dictionary with this many values.
func (d *decoder) indexes(values int) []uint32 {
	column := make([]uint32, d.length())
	for i := range column {
		index := d.number()
		if index >= uint64(values) {
			d.bad, index = true, 0
		}
		column[i] = uint32(index)
	}
	return column
}

func encodeNumbers[V uint32 | uint64](c *dictionary[V]) []byte {
	var e encoder
	e.number(uint64(len(c.values)))
	for _, v := range c.values {
		e.number(uint64(v))
	}
	e.indexes(c.of)
	return e
}

func decodeNumbers[V uint32 | uint64](c *dictionary[V], data []byte) error {
	d := decoder{rest: data}
	c.values = make([]V, d.length())
	for i := range c.values {
		c.values[i] = V(d.number())
	}
	c.of = d.indexes(len(c.values))
	return d.err()
}

func encodeSets(c *dictionary[string]) []byte {
	var e encoder
	e.number(uint64(len(c.values)))
	for _, set := range c.values {
		e.text(set)
	}
	e.indexes(c.of)
	return e
}

func decodeSets(c *dictionary[string], data []byte) error {
	d := decoder{rest: data}
	whole := string(data) // all sets share its memory
	c.values = make([]string, d.length())
	for i := range c.values {
		n := len(d.bytes())
		end := len(data) - len(d.rest)
		c.values[i] = whole[end-n : end]
	}
	c.of = d.indexes(len(c.values))
	return d.err()
}

func encodeTexts(texts []string) []byte {
	var e encoder
	last := ""
	for _, text := range texts {
		e.front(last, text)
		last = text
	}
	return e
}

// eachText calls f with each encoded text, which is valid until f returns.
func eachText(data []byte, f func(text []byte)) error {
	d := decoder{rest: data}
	var text []byte
	for d.more() {
		if text = d.front(text); !d.bad {
			f(text)
		}
	}
	return d.err()
}
