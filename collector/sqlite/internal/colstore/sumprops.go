package colstore

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strconv"

	"github.com/footfall-dev/footfall/collector/store"
)

// SumProps adds up the numbers in encoded tables of props, and returns the first limit keys that
// have any.
func SumProps(ctx context.Context, tables [][]byte, limit int) ([]store.Number, error) {
	s := summed{limit: max(limit, 0)}
	err := eachRow(ctx, tables, s.addRow)
	if err != nil {
		return nil, err
	}
	s.endKey()
	s.cut(s.limit)
	return s.all, nil
}

// summed collects the sums of several days, in order of keys and values. So the rounding of sums
// depends on the values alone.
type summed struct {
	limit      int
	all        []store.Number
	current    store.Number
	key, value []byte
	numbers    int64 // of key and value
}

func (s *summed) addRow(c *cursor) {
	sameKey := bytes.Equal(s.key, c.key)
	if !sameKey {
		s.endKey()
		s.key = append(s.key[:0], c.key...)
	}
	if !sameKey || !bytes.Equal(s.value, c.value) {
		s.endValue()
		s.value = append(s.value[:0], c.value...)
	}
	s.numbers += c.numbers
}

func (s *summed) endValue() {
	events := s.numbers
	s.numbers = 0
	if events == 0 {
		return
	}
	if value, err := strconv.ParseFloat(string(s.value), 64); err == nil {
		s.current.Add(value, events)
	}
}

func (s *summed) endKey() {
	s.endValue()
	if s.current.Count > 0 {
		s.current.Key = string(s.key)
		s.all = append(s.all, s.current)
	}
	s.current = store.Number{}
	if len(s.all) > 2*s.limit+1000 { // there may be millions of keys
		s.cut(s.limit)
	}
}

// cut keeps the first keys.
func (s *summed) cut(limit int) {
	slices.SortFunc(s.all, func(a, b store.Number) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Key, b.Key))
	})
	s.all = s.all[:min(len(s.all), limit)]
}
