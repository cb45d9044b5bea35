package sqlite

import (
	"time"

	"github.com/footfall-dev/footfall/collector/store"
)

// This file packs and unpacks the parts of a rollup: numbers in as few bytes as they
// need, one after the other. A column of a day begins with its length.

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

func encodeTop(of map[uint32]tally) []byte {
	var e encoder
	for id, t := range of {
		e.number(uint64(id))
		e.count(t.count)
		e.count(t.visitors)
	}
	return e
}

// mergeTop adds a table, packed, to another.
func mergeTop(into map[uint32]tally, data []byte) error {
	d := decoder{rest: data}
	for d.more() {
		id := uint32(d.number())
		t := into[id]
		t.add(tally{d.count(), d.count()})
		into[id] = t
	}
	return d.err()
}

func encodePairs(byName map[uint32]*pairs) []byte {
	var e encoder
	for name, table := range byName {
		e.number(uint64(name))
		e.text(string(table.encode()))
	}
	return e
}

// mergePairs adds the table of a name to another.
func mergePairs(into *pairs, name uint32, data []byte) error {
	d := decoder{rest: data}
	for d.more() {
		of, table := uint32(d.number()), d.bytes()
		if of != name || d.bad {
			continue
		}
		if err := into.merge(table); err != nil {
			return err
		}
	}
	return d.err()
}

func encodeTimes(at times) []byte {
	var e encoder
	e.number(uint64(len(at)))
	last := int64(0)
	for i, t := range at {
		if i == 0 {
			last = floorDiv(t, msPerDay) * msPerDay
		}
		e.number(uint64(t - last))
		last = t
	}
	return e
}

func (c *columns) decodeTimes(day int64, data []byte) error {
	d := decoder{rest: data}
	c.at = make(times, d.length())
	last := day * msPerDay
	for i := range c.at {
		last += d.count()
		c.at[i] = last
	}
	return d.err()
}

func encodeIDs(column ids) []byte {
	var e encoder
	e.number(uint64(len(column)))
	for _, id := range column {
		e.number(uint64(id))
	}
	return e
}

func (d *decoder) ids() ids {
	column := make(ids, d.length())
	for i := range column {
		column[i] = uint32(d.number())
	}
	return column
}

// indexes are those of a dictionary of that many values.
func (d *decoder) indexes(values int) []uint32 {
	column := d.ids()
	for i, index := range column {
		if int(index) >= values {
			d.bad, column[i] = true, 0
		}
	}
	return column
}

func encodeVisitors(c *dictionary[uint64]) []byte {
	var e encoder
	e.number(uint64(len(c.values)))
	for _, v := range c.values {
		e.number(v)
	}
	return append(e, encodeIDs(c.of)...)
}

func (c *columns) decodeVisitors(data []byte) error {
	d := decoder{rest: data}
	c.visitor.values = make([]uint64, d.length())
	for i := range c.visitor.values {
		c.visitor.values[i] = d.number()
	}
	c.visitor.of = d.indexes(len(c.visitor.values))
	return d.err()
}

func encodeSets(c *dictionary[string]) []byte {
	var e encoder
	e.number(uint64(len(c.values)))
	for _, set := range c.values {
		e.text(set)
	}
	return append(e, encodeIDs(c.of)...)
}

func (c *columns) decodeSets(data []byte) error {
	d := decoder{rest: data}
	c.props.values = make([]string, d.length())
	for i := range c.props.values {
		c.props.values[i] = string(d.bytes())
	}
	c.props.of = d.indexes(len(c.props.values))
	return d.err()
}

// unpack reads columns of the day's rollup, and leaves what is in the range.
func (d *span) unpack(want ...string) (*columns, error) {
	c := &columns{}
	decode := map[string]func([]byte) error{
		visitor: c.decodeVisitors,
		props:   c.decodeSets,
		name:    func(data []byte) error { return decodeIDs(&c.name, data) },
		path:    func(data []byte) error { return decodeIDs(&c.path, data) },
	}
	part := map[string]int{visitor: partVisitor, props: partSets, name: partName, path: partPath}
	data, err := d.part(partAt)
	if err != nil {
		return nil, err
	}
	if err := c.decodeTimes(d.day, data); err != nil {
		return nil, err
	}
	for _, column := range want {
		if data, err = d.part(part[column]); err != nil {
			return nil, err
		}
		if err := decode[column](data); err != nil {
			return nil, err
		}
	}
	if err := c.sameLength(want); err != nil {
		return nil, err
	}
	c.cut(d.from, d.to)
	return c, nil
}

func decodeIDs(into *ids, data []byte) error {
	d := decoder{rest: data}
	*into = d.ids()
	return d.err()
}

// sameLength is what all that goes through columns by an index relies on.
func (c *columns) sameLength(want []string) error {
	length := map[string]int{visitor: len(c.visitor.of), props: len(c.props.of), name: len(c.name), path: len(c.path)}
	for _, column := range want {
		if length[column] != len(c.at) {
			return errDamaged
		}
	}
	return nil
}

// columns returns those of the span, from the rollup if there is one.
func (d *span) columns(want ...string) (*columns, error) {
	if d.rolled {
		return d.unpack(want...)
	}
	return d.scan(d.from, d.to, want...)
}
