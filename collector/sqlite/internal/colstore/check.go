package colstore

import "slices"

// CheckSegment decodes all parts of a segment. It returns the number of events, and the IDs of
// the texts that the segment uses. day is in days since 1970.
func CheckSegment(day int64, parts Parts) (events int, ids []uint32, err error) {
	c, err := DecodeSegment(day, AllColumns(), parts)
	if err != nil {
		return 0, nil, err
	}
	for _, of := range textColumns {
		ids = append(ids, c.texts[of].values...)
	}
	pages := 0
	if err := eachText(c.pages, func([]byte) { pages++ }); err != nil {
		return 0, nil, err
	}
	if pages != len(c.texts[Path].values) {
		return 0, nil, ErrDamaged
	}
	for _, set := range c.props.values {
		if err := CheckProps([]byte(set)); err != nil {
			return 0, nil, err
		}
	}
	return c.Len(), ids, nil
}

// CheckProps decodes the props of an event.
func CheckProps(set []byte) error {
	return eachProp(set, func(_, _ []byte, _ bool) {})
}

// CheckRollup decodes all parts of a rollup. It returns the number of events, and the IDs of the
// texts that the rollup uses.
func CheckRollup(parts Parts) (events int64, ids []uint32, err error) {
	totals, err := DecodeTotals(parts[PartTotals])
	if err != nil {
		return 0, nil, err
	}
	for _, part := range topParts {
		table, found := parts[part]
		if !found {
			continue // not made yet: the rollup is of an earlier version
		}
		values, err := checkTopTable(table)
		if err != nil {
			return 0, nil, err
		}
		ids = append(ids, values...)
	}
	names, err := checkPropTables(parts[PartProps])
	if err != nil {
		return 0, nil, err
	}
	ofEvents, err := checkEventTables(parts)
	return totals.Day.Pageviews + totals.Day.Events, slices.Concat(ids, names, ofEvents), err
}

// checkEventTables returns the IDs of names and of paths.
func checkEventTables(parts Parts) (ids []uint32, err error) {
	for part, check := range map[int]func(table []byte) ([]uint32, error){
		PartEventHours: func(table []byte) ([]uint32, error) { _, err := DecodeHours(table); return nil, err },
		PartEventPages: checkTopTable,
	} {
		d := decoder{data: parts[part]}
		for d.more() {
			ids = append(ids, uint32(d.number()))
			more, err := check(d.bytes())
			if err != nil {
				return nil, err
			}
			ids = append(ids, more...)
		}
		if d.err() != nil {
			return nil, ErrDamaged
		}
	}
	return ids, nil
}

// checkTopTable returns the IDs of the texts in an encoded TopTable.
func checkTopTable(table []byte) (ids []uint32, err error) {
	d := decoder{data: table}
	for range d.length() {
		ids = append(ids, uint32(d.number()))
		d.tally()
	}
	return ids, d.err()
}

// checkPropTables returns the IDs of the names that have a table.
func checkPropTables(data []byte) (names []uint32, err error) {
	d := decoder{data: data}
	for d.more() {
		names = append(names, uint32(d.number()))
		rows := cursor{table: decoder{data: d.bytes()}}
		for more := true; more; {
			if more, err = rows.next(); err != nil {
				return nil, err
			}
		}
	}
	return names, d.err()
}
