package colstore

import (
	"slices"
	"strings"

	"github.com/footfall-dev/footfall/collector/store"
)

// EventTables are the figures of a day's events by name: when they happened, and on which pages.
type EventTables struct {
	days  groups // by name
	hours groups // by name and hour
	pages groups // by name and path
}

// CountEvents counts the events of a day whose names are wanted. It needs At, Visitor, Name and
// Path.
func CountEvents(c *Columns, wanted func(name uint32) bool) *EventTables {
	t := &EventTables{}
	names, paths := &c.texts[Name], &c.texts[Path]
	counts := make([]bool, len(names.values))
	for i, id := range names.values {
		counts[i] = i != 0 && wanted(id)
	}
	for row, index := range names.rows {
		if !counts[index] {
			continue
		}
		name, visitor := names.values[index], c.visitor.rows[row]
		hour := FloorDiv(c.at[row], MsPerDay/24) - 24*DayOf(c.at[row])
		t.days.add(name, 0, visitor)
		t.hours.add(name, uint32(hour), visitor)
		t.pages.add(name, paths.values[paths.rows[row]], visitor)
	}
	for _, g := range []*groups{&t.days, &t.hours, &t.pages} {
		g.tallies = tallies(len(g.keys), g.rows, g.visitors, len(c.visitor.values))
	}
	return t
}

// groups counts events by a name and a second number.
type groups struct {
	index          map[group]uint32
	keys           []group
	rows, visitors []uint32 // of each event, until tallies are computed
	tallies        []Tally  // of keys
}

type group struct{ name, of uint32 }

func (g *groups) add(name, of, visitor uint32) {
	if g.index == nil {
		g.index = make(map[group]uint32)
	}
	key := group{name, of}
	i, known := g.index[key]
	if !known {
		i = uint32(len(g.keys))
		g.index[key] = i
		g.keys = append(g.keys, key)
	}
	g.rows, g.visitors = append(g.rows, i), append(g.visitors, visitor)
}

// sorted returns the indexes of all keys by name, and the keys of one name in the order of compare.
func (g *groups) sorted(compare func(a, b uint32) int) []uint32 {
	order := make([]uint32, len(g.keys))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order, func(a, b uint32) int {
		if x, y := g.keys[a].name, g.keys[b].name; x != y {
			return int(int64(x) - int64(y))
		}
		return compare(g.keys[a].of, g.keys[b].of)
	})
	return order
}

// each calls f with the keys of each name, in an order.
func (g *groups) each(compare func(a, b uint32) int, f func(name uint32, keys []uint32)) {
	order := g.sorted(compare)
	for len(order) > 0 {
		name, n := g.keys[order[0]].name, 0
		for n < len(order) && g.keys[order[n]].name == name {
			n++
		}
		f(name, order[:n])
		order = order[n:]
	}
}

func byNumber(a, b uint32) int { return int(int64(a) - int64(b)) }

// EncodeHours returns the part PartEventHours of a rollup.
func (t *EventTables) EncodeHours() []byte {
	var e encoder
	t.hours.each(byNumber, func(name uint32, keys []uint32) {
		var table encoder
		table.number(uint64(t.days.tallies[t.days.index[group{name, 0}]].Visitors))
		for _, i := range keys {
			table.number(uint64(t.hours.keys[i].of))
			table.tally(t.hours.tallies[i])
		}
		e.number(uint64(name))
		e.bytes(string(table))
	})
	return e
}

// DecodeHours decodes the table of a name in the part PartEventHours. An empty table has no
// events.
func DecodeHours(table []byte) (t Totals, err error) {
	d := decoder{data: table}
	if d.more() {
		t.Day.Visitors = int64(d.number())
	}
	for d.more() {
		hour, n := d.number(), d.tally()
		if hour >= uint64(len(t.Hours)) {
			return Totals{}, ErrDamaged
		}
		t.Hours[hour] = store.Totals{Visitors: n.Visitors, Events: n.Count}
		t.Day.Events += n.Count
	}
	return t, d.err()
}

// Hours returns the totals of the events with a name.
func (t *EventTables) Hours(name uint32) (all Totals) {
	if i, known := t.days.index[group{name, 0}]; known {
		all.Day = store.Totals{Visitors: t.days.tallies[i].Visitors, Events: t.days.tallies[i].Count}
	}
	for i, key := range t.hours.keys {
		if n := t.hours.tallies[i]; key.name == name {
			all.Hours[key.of] = store.Totals{Visitors: n.Visitors, Events: n.Count}
		}
	}
	return all
}

// EncodePages returns the part PartEventPages of a rollup.
func (t *EventTables) EncodePages(texts Texts) ([]byte, error) {
	var ids []uint32
	for _, key := range t.pages.keys {
		ids = append(ids, key.of)
	}
	textOf, err := texts(ids)
	if err != nil {
		return nil, err
	}
	var e encoder
	byText := func(a, b uint32) int { return strings.Compare(textOf[a], textOf[b]) }
	t.pages.each(byText, func(name uint32, keys []uint32) {
		var table encoder
		table.number(uint64(len(keys)))
		for _, i := range keys {
			table.number(uint64(t.pages.keys[i].of))
			table.tally(t.pages.tallies[i])
		}
		e.number(uint64(name))
		e.bytes(string(table))
	})
	return e, nil
}
