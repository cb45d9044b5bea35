package colstore

import (
	"slices"
	"strings"
)

// Parts are the encoded parts of a segment or a rollup, by number.
type Parts map[int][]byte

// SegmentParts returns the numbers of the parts with these columns, and with the texts of the
// paths if a [Matcher] needs them.
func SegmentParts(of []Column, pages bool) []int {
	var parts []int
	for _, column := range of {
		parts = append(parts, int(column))
	}
	if pages {
		parts = append(parts, partPages)
	}
	return parts
}

// EncodeSegment encodes all columns. It sorts their dictionaries.
func (c *Columns) EncodeSegment(texts Texts) (Parts, error) {
	parts := Parts{
		int(At):      encodeTimes(c.at),
		int(Visitor): encodeNumbers(&c.visitor),
		int(Props):   encodeSets(&c.props),
	}
	for _, of := range textColumns {
		sorted, err := sortByText(&c.texts[of], texts)
		if err != nil {
			return nil, err
		}
		parts[int(of)] = encodeNumbers(&c.texts[of])
		if of == Path {
			parts[partPages] = encodeTexts(sorted)
		}
	}
	return parts, nil
}

// sortByText sorts the values of a dictionary by their texts, and returns the texts.
func sortByText(c *dictionary[uint32], texts Texts) ([]string, error) {
	textOf, err := texts(c.values)
	if err != nil {
		return nil, err
	}
	old := slices.Clone(c.values)
	slices.SortFunc(c.values, func(a, b uint32) int { return strings.Compare(textOf[a], textOf[b]) })
	moved := make(map[uint32]uint32, len(old))
	sorted := make([]string, len(old))
	for i, id := range c.values {
		moved[id], sorted[i] = uint32(i), textOf[id]
	}
	for i, index := range c.rows {
		c.rows[i] = moved[old[index]]
	}
	c.index = nil
	return sorted, nil
}

// DecodeSegment decodes the columns in parts of a segment. day is in days since 1970.
func DecodeSegment(day int64, of []Column, parts Parts) (*Columns, error) {
	c := &Columns{sorted: true, pages: parts[partPages]}
	for _, column := range of {
		if err := c.decode(column, day*MsPerDay, parts[int(column)]); err != nil {
			return nil, err
		}
	}
	if err := c.sameLength(of); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *Columns) decode(of Column, midnight int64, data []byte) error {
	switch of {
	case At:
		return decodeTimes(&c.at, midnight, data)
	case Visitor:
		return decodeNumbers(&c.visitor, data)
	case Props:
		return decodeSets(&c.props, data)
	default:
		return decodeNumbers(&c.texts[of], data)
	}
}

// sameLength checks that all columns have the same length, so that indexes are safe.
func (c *Columns) sameLength(of []Column) error {
	for _, column := range of {
		n := 0
		switch column {
		case At:
			n = len(c.at)
		case Visitor:
			n = len(c.visitor.rows)
		case Props:
			n = len(c.props.rows)
		default:
			n = len(c.texts[column].rows)
		}
		if n != c.Len() {
			return ErrDamaged
		}
	}
	return nil
}

// encodeTimes encodes times of one day as differences, the first one from midnight.
func encodeTimes(at times) []byte {
	var e encoder
	e.number(uint64(len(at)))
	last := int64(0)
	for i, t := range at {
		if i == 0 {
			last = DayOf(t) * MsPerDay
		}
		e.number(uint64(t - last))
		last = t
	}
	return e
}

func decodeTimes(at *times, midnight int64, data []byte) error {
	d := decoder{data: data}
	*at = make(times, d.length())
	numbers(&d, *at)
	last := midnight
	for i, n := range *at {
		last += n
		(*at)[i] = last
	}
	return d.err()
}

func encodeNumbers[V uint32 | uint64](c *dictionary[V]) []byte {
	var e encoder
	e.number(uint64(len(c.values)))
	for _, v := range c.values {
		e.number(uint64(v))
	}
	e.indexes(c.rows)
	return e
}

func decodeNumbers[V uint32 | uint64](c *dictionary[V], data []byte) error {
	d := decoder{data: data}
	c.values = make([]V, d.length())
	numbers(&d, c.values)
	c.rows = d.indexes(len(c.values))
	return d.err()
}

func encodeSets(c *dictionary[string]) []byte {
	var e encoder
	e.number(uint64(len(c.values)))
	for _, set := range c.values {
		e.bytes(set)
	}
	e.indexes(c.rows)
	return e
}

func decodeSets(c *dictionary[string], data []byte) error {
	d := decodeSetValues(c, data)
	c.rows = d.indexes(len(c.values))
	return d.err()
}

// decodeSetValues decodes the values, and returns the decoder of the rows.
func decodeSetValues(c *dictionary[string], data []byte) decoder {
	d := decoder{data: data}
	whole := string(data) // all sets share its memory
	c.values = make([]string, d.length())
	for i := range c.values {
		n := len(d.bytes())
		end := len(data) - len(d.data)
		c.values[i] = whole[end-n : end]
	}
	return d
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
	d := decoder{data: data}
	var text []byte
	for d.more() {
		if text = d.front(text); !d.bad {
			f(text)
		}
	}
	return d.err()
}

// EmptyTexts encodes a column of empty texts for the segment with these times.
func EmptyTexts(times []byte) ([]byte, error) {
	d := decoder{data: times}
	rows := make([]uint32, d.length())
	return encodeNumbers(&dictionary[uint32]{values: []uint32{0}, rows: rows}), d.err()
}

// eachPage calls f with each text of the dictionary of paths, which is valid until f returns. It needs the texts of the paths.
func (c *Columns) eachPage(f func(index int, text []byte)) error {
	index, paths := 0, len(c.texts[Path].values)
	err := eachText(c.pages, func(text []byte) {
		if index < paths {
			f(index, text)
		}
		index++
	})
	if err == nil && index != paths {
		err = ErrDamaged
	}
	return err
}
