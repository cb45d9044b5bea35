// Package window holds the records in memory that a transport has read from a file or a stream, and that
// another transport takes.
package window

import "slices"

// Window is a list of values, oldest first. The zero Window is empty. It has no lock.
type Window[T any] struct {
	entries []entry[T]
	bytes   int
}

type entry[T any] struct {
	value T
	size  int
}

// Len returns the number of values.
func (w *Window[T]) Len() int { return len(w.entries) }

// Bytes returns the sum of their sizes.
func (w *Window[T]) Bytes() int { return w.bytes }

// Add adds the newest value.
func (w *Window[T]) Add(value T, size int) {
	w.entries = append(w.entries, entry[T]{value, size})
	w.bytes += size
}

// Return adds values, oldest first, that were taken before all others.
func (w *Window[T]) Return(values []T, size func(T) int) {
	first := make([]entry[T], len(values))
	for i, v := range values {
		first[i] = entry[T]{value: v, size: size(v)}
		w.bytes += first[i].size
	}
	w.entries = append(first, w.entries...)
}

// Oldest returns the oldest value, or false if there is none.
func (w *Window[T]) Oldest() (value T, ok bool) {
	if len(w.entries) == 0 {
		return value, false
	}
	return w.entries[0].value, true
}

// TakeOldest takes the oldest value.
func (w *Window[T]) TakeOldest() (value T, ok bool) {
	if len(w.entries) == 0 {
		return value, false
	}
	first := w.entries[0]
	w.entries[0] = entry[T]{}
	w.entries = w.entries[1:]
	w.bytes -= first.size
	return first.value, true
}

// TakeIf takes the values for which match returns true, oldest first.
func (w *Window[T]) TakeIf(match func(T) bool) (values []T) {
	w.entries = slices.DeleteFunc(w.entries, func(e entry[T]) bool {
		if !match(e.value) {
			return false
		}
		values = append(values, e.value)
		w.bytes -= e.size
		return true
	})
	return values
}
