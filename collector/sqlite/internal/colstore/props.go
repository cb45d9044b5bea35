package colstore

import "github.com/footfall-dev/footfall/collector/store"

// EncodeProps encodes the props of an event; no props are nil.
func EncodeProps(props []store.Prop) []byte {
	var e encoder
	for _, p := range props {
		key := uint64(len(p.Key)) << 1
		if p.Numeric {
			key |= 1
		}
		e.number(key)
		e = append(e, p.Key...)
		e.bytes(p.Value)
	}
	return e
}

// DecodeProps decodes the props of an event.
func DecodeProps(set []byte) (props []store.Prop, err error) {
	err = eachProp(set, func(key, value []byte, numeric bool) {
		props = append(props, store.Prop{Key: string(key), Value: string(value), Numeric: numeric})
	})
	return props, err
}

// eachProp calls f with each prop of an encoded set.
func eachProp(set []byte, f func(key, value []byte, numeric bool)) error {
	d := decoder{data: set}
	for d.more() {
		n := d.number()
		if n>>1 > uint64(len(d.data)) {
			return ErrDamaged
		}
		key := d.data[:n>>1]
		d.data = d.data[n>>1:]
		value := d.bytes()
		if !d.bad {
			f(key, value, n&1 != 0)
		}
	}
	return d.err()
}
