package window_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/internal/window"
)

// model is a Window as a plain list: the position of a value is its age.
type model struct {
	values []int
	size   map[int]int
}

func (m *model) bytes() (n int) {
	for _, v := range m.values {
		n += m.size[v]
	}
	return n
}

func TestWindowIsAListInEachOrderOfCalls(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		var w window.Window[int]
		m := model{values: []int{}, size: make(map[int]int)}
		for v := range 300 {
			if r.IntN(7) < 3 {
				m.add(&w, r, v)
			} else {
				m.take(t, &w, r)
			}
			require.Equal(t, len(m.values), w.Len())
			require.Equal(t, m.bytes(), w.Bytes())
		}
	}
}

// add adds v as the newest value, or up to two values as the oldest.
func (m *model) add(w *window.Window[int], r *rand.Rand, v int) {
	m.size[v], m.size[v+1000] = r.IntN(100), r.IntN(100)
	if r.IntN(3) == 0 {
		again := []int{v, v + 1000}[:r.IntN(3)]
		w.Return(again, func(v int) int { return m.size[v] })
		m.values = slices.Insert(m.values, 0, again...)
		return
	}
	w.Add(v, m.size[v])
	m.values = append(m.values, v)
}

// take takes one value or several.
func (m *model) take(t *testing.T, w *window.Window[int], r *rand.Rand) {
	t.Helper()
	last := len(m.values) - 1
	oldest, there := w.Oldest()
	require.Equal(t, last >= 0, there)
	var got int
	var ok bool
	switch r.IntN(2) {
	case 0:
		got, ok = w.TakeOldest()
		require.Equal(t, there, ok)
		require.True(t, !ok || got == m.values[0] && got == oldest)
	default:
		n := 1 + r.IntN(10)
		match := func(v int) bool { return v%10 < n }
		some := w.TakeIf(match)
		m.values = slices.DeleteFunc(m.values, func(v int) bool {
			if match(v) {
				require.Equal(t, some[0], v)
				some = some[1:]
			}
			return match(v)
		})
		require.Empty(t, some)
		return
	}
	if ok {
		m.values = slices.DeleteFunc(m.values, func(o int) bool { return o == got })
	}
}
