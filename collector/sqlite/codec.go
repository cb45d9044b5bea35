package sqlite

import (
	"encoding/binary"
	"errors"

	"github.com/footfall-dev/footfall/collector/store"
)

// errDamaged is returned for encoded bytes that cannot be decoded.
var errDamaged = errors.New("damaged: restore a backup")

// encoder encodes numbers and texts.
type encoder []byte

func (e *encoder) number(n uint64) { *e = binary.AppendUvarint(*e, n) }

func (e *encoder) count(n int64) { e.number(uint64(n)) }

func (e *encoder) text(s string) {
	e.number(uint64(len(s)))
	*e = append(*e, s...)
}

// decoder decodes the bytes of an encoder. It accepts any bytes: after the first invalid ones
// it returns zero values, and err reports errDamaged.
type decoder struct {
	rest []byte
	bad  bool
}

func (d *decoder) more() bool { return len(d.rest) > 0 && !d.bad }

func (d *decoder) err() error {
	if d.bad {
		return errDamaged
	}
	return nil
}

func (d *decoder) number() uint64 {
	if len(d.rest) > 0 && d.rest[0] < 0x80 && !d.bad {
		n := d.rest[0]
		d.rest = d.rest[1:]
		return uint64(n)
	}
	n, size := binary.Uvarint(d.rest)
	if size <= 0 || d.bad {
		d.bad, d.rest = true, nil
		return 0
	}
	d.rest = d.rest[size:]
	return n
}

func (d *decoder) count() int64 { return int64(d.number()) }

// length decodes the number of following items. Each item takes at least a byte.
func (d *decoder) length() int {
	n := d.number()
	if n > uint64(len(d.rest)) {
		d.bad, d.rest = true, nil
		return 0
	}
	return int(n)
}

// bytes decodes a byte string. It shares memory with the decoder.
func (d *decoder) bytes() []byte {
	n := d.length()
	b := d.rest[:n]
	d.rest = d.rest[n:]
	return b
}

// front encodes text relative to last: the length of their common prefix and the rest. Sorted
// texts take the least room.
func (e *encoder) front(last, text string) {
	shared := 0
	for shared < min(len(last), len(text)) && last[shared] == text[shared] {
		shared++
	}
	e.number(uint64(shared))
	e.text(text[shared:])
}

// front decodes the text that follows last, and overwrites last.
func (d *decoder) front(last []byte) []byte {
	shared := d.number()
	rest := d.bytes()
	if shared > uint64(len(last)) || d.bad {
		d.bad, d.rest = true, nil
		return last[:0]
	}
	return append(last[:shared], rest...)
}

// encodeProps encodes props for a column; no props are nil, which is NULL.
func encodeProps(props []store.Prop) any {
	if len(props) == 0 {
		return nil
	}
	var e encoder
	for _, p := range props {
		key := uint64(len(p.Key)) << 1
		if p.Numeric {
			key |= 1
		}
		e.number(key)
		e = append(e, p.Key...)
		e.text(p.Value)
	}
	return []byte(e)
}

// eachProp calls f with each prop of a column.
func eachProp(column []byte, f func(key, value []byte, numeric bool)) error {
	d := decoder{rest: column}
	for d.more() {
		n := d.number()
		if n>>1 > uint64(len(d.rest)) {
			return errDamaged
		}
		key := d.rest[:n>>1]
		d.rest = d.rest[n>>1:]
		value := d.bytes()
		if !d.bad {
			f(key, value, n&1 != 0)
		}
	}
	return d.err()
}

func decodeProps(column []byte) (props []store.Prop, err error) {
	err = eachProp(column, func(key, value []byte, numeric bool) {
		props = append(props, store.Prop{Key: string(key), Value: string(value), Numeric: numeric})
	})
	return props, err
}
