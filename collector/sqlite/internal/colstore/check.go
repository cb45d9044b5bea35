package colstore

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
		d := decoder{data: table}
		for range d.length() {
			ids = append(ids, uint32(d.number()))
			d.tally()
		}
		if err := d.err(); err != nil {
			return 0, nil, err
		}
	}
	names, err := checkPropTables(parts[PartProps])
	return totals.Day.Pageviews + totals.Day.Events, append(ids, names...), err
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
