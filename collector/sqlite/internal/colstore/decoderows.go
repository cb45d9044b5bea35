package colstore

import (
	"encoding/binary"
	"math/bits"
)

// decodeRows decodes some rows of a column of a segment with this many rows.
func (c *Columns) decodeRows(of Column, midnight int64, data []byte, all int, rows []uint32) error {
	switch of {
	case At:
		if err := decodeTimes(&c.at, midnight, data); err != nil || len(c.at) != all {
			return ErrDamaged
		}
		for i, row := range rows {
			c.at[i] = c.at[row]
		}
		c.at = c.at[:len(rows)]
		return nil
	case Props:
		d := decodeSetValues(&c.props, data)
		c.props.rows = d.indexesAt(len(c.props.values), all, rows)
		return d.err()
	default:
		t := &c.texts[of]
		d := decoder{data: data}
		t.values = make([]uint32, d.length())
		numbers(&d, t.values)
		t.rows = d.indexesAt(len(t.values), all, rows)
		return d.err()
	}
}

// indexesAt decodes the indexes of some of all rows, in order.
func (d *decoder) indexesAt(values, all int, rows []uint32) []uint32 {
	if d.length() != all {
		d.bad, d.data = true, nil
	}
	indexes := make([]uint32, len(rows))
	next := uint32(0) // the row of the next number
	for i, row := range rows {
		d.data = skip(d.data, int(row-next))
		n := d.number()
		if n >= uint64(values) {
			d.bad, d.data = true, nil
			clear(indexes)
			return indexes
		}
		indexes[i], next = uint32(n), row+1
	}
	return indexes
}

// lastBytes has the high bit of each byte, which is clear in the last byte of a number.
const lastBytes = 0x8080808080808080

// skip returns the data after n numbers; nothing if there are fewer.
func skip(data []byte, n int) []byte {
	for n >= 8 && len(data) >= 8 {
		n -= bits.OnesCount64(^binary.LittleEndian.Uint64(data) & lastBytes)
		data = data[8:]
	}
	for ; n > 0 && len(data) > 0; data = data[1:] {
		if data[0] < 0x80 {
			n--
		}
	}
	return data
}
