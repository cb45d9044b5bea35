package colstore

import "slices"

// dictionary is a column with few distinct values: each row holds the index of its value.
// Index 0 is the zero value. Visitors are unique in a dictionary; other values may repeat.
type dictionary[V uint64 | uint32 | string] struct {
	rows   []uint32
	values []V
	index  map[V]uint32 // of values, if rows are added one at a time
}

// Scan implements sql.Scanner. It appends a row, without the reflection that database/sql
// needs for other destinations.
func (d *dictionary[V]) Scan(value any) error {
	switch d := any(d).(type) {
	case *dictionary[uint64]:
		n, _ := value.(int64)
		d.rows = append(d.rows, d.member(uint64(n)))
	case *dictionary[string]:
		b, _ := value.([]byte)
		d.rows = append(d.rows, d.member(string(b)))
	case *dictionary[uint32]:
		n, ok := value.(int64)
		if !ok || n < 0 || n > 1<<32-1 {
			return ErrDamaged
		}
		d.rows = append(d.rows, d.member(uint32(n)))
	}
	return nil
}

// join appends another column.
func (d *dictionary[V]) join(e *dictionary[V]) {
	if len(d.rows) == 0 {
		*d = *e
		return
	}
	shift := uint32(len(d.values)) - 1 // index 0 stays
	for _, i := range e.rows {
		if i != 0 {
			i += shift
		}
		d.rows = append(d.rows, i)
	}
	d.values = append(d.values, e.values[min(1, len(e.values)):]...)
	d.index = nil
}

// joinOnce is like join, but keeps the values unique.
func (d *dictionary[V]) joinOnce(e *dictionary[V]) {
	if len(d.rows) == 0 {
		*d = *e
		return
	}
	moved := make([]uint32, len(e.values))
	for i, v := range e.values {
		moved[i] = d.member(v)
	}
	d.rows = slices.Grow(d.rows, len(e.rows))
	for _, i := range e.rows {
		d.rows = append(d.rows, moved[i])
	}
}

// member returns the index of a value, which it adds if necessary.
func (d *dictionary[V]) member(v V) uint32 {
	if d.index == nil {
		d.index = make(map[V]uint32, len(d.values))
		for i, known := range d.values {
			d.index[known] = uint32(i)
		}
	}
	if len(d.values) == 0 {
		var zero V
		d.index[zero], d.values = 0, append(d.values, zero)
	}
	i, known := d.index[v]
	if !known {
		i = uint32(len(d.values))
		d.index[v] = i
		d.values = append(d.values, v)
	}
	return i
}
