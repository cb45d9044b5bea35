package window_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/internal/window"
)

// model is a Window as a plain list: the position of a value is its age.
type model struct {
	values  []int
	arrived map[int]time.Time
	size    map[int]int
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
		m := model{values: []int{}, arrived: make(map[int]time.Time), size: make(map[int]int)}
		for v := range 300 {
			if r.IntN(7) < 3 {
				m.add(&w, r, v)
			} else {
				m.take(t, &w, r, v)
			}
			require.Equal(t, len(m.values), w.Len())
			require.Equal(t, m.bytes(), w.Bytes())
		}
	}
}

var began = time.Now()

// add adds v as the newest value, or up to two values as the oldest.
func (m *model) add(w *window.Window[int], r *rand.Rand, v int) {
	m.size[v], m.size[v+1000] = r.IntN(100), r.IntN(100)
	if r.IntN(3) == 0 {
		again := []int{v, v + 1000}[:r.IntN(3)]
		w.Return(again, func(v int) int { return m.size[v] })
		m.values = slices.Insert(m.values, 0, again...)
		return
	}
	if r.IntN(3) > 0 {
		m.arrived[v] = began.Add(time.Duration(v))
	}
	w.Add(v, m.size[v], m.arrived[v])
	m.values = append(m.values, v)
}

// take takes one value or several. v is the time.
func (m *model) take(t *testing.T, w *window.Window[int], r *rand.Rand, v int) {
	t.Helper()
	last := len(m.values) - 1
	oldest, there := w.Oldest()
	require.Equal(t, last >= 0, there)
	var got int
	var ok bool
	switch r.IntN(4) {
	case 0:
		got, ok = w.TakeOldest()
		require.Equal(t, there, ok)
		require.True(t, !ok || got == m.values[0] && got == oldest)
	case 1:
		got, ok = w.TakeAny()
		require.Equal(t, there, ok)
		require.True(t, !ok || slices.Contains(m.values, got))
	case 2:
		since := began.Add(time.Duration(v - r.IntN(20)))
		got, ok = w.TakeNewest(since)
		require.Equal(t, there && m.arrived[m.values[last]].After(since), ok)
		require.True(t, !ok || got == m.values[last])
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

func TestTakeAnyTakesEachValue(t *testing.T) {
	taken := make(map[int]bool)
	for range 1000 {
		var w window.Window[int]
		for v := range 5 {
			w.Add(v, 1, time.Time{})
		}
		v, _ := w.TakeAny()
		taken[v] = true
	}
	assert.Len(t, taken, 5)
}
