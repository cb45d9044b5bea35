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

func (m *model) remove(v int) {
	m.values = slices.DeleteFunc(m.values, func(o int) bool { return o == v })
}

func (m *model) bytes() (n int) {
	for _, v := range m.values {
		n += m.size[v]
	}
	return n
}

func TestWindowIsAListInEachOrderOfCalls(t *testing.T) {
	began := time.Now()
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		var w window.Window[int]
		m := model{values: []int{}, arrived: make(map[int]time.Time), size: make(map[int]int)}
		for v := range 300 {
			switch r.IntN(7) {
			case 0, 1:
				m.size[v] = r.IntN(100)
				if r.IntN(3) > 0 {
					m.arrived[v] = began.Add(time.Duration(v))
				}
				w.Add(v, m.size[v], m.arrived[v])
				m.values = append(m.values, v)
			case 2:
				again := []int{v, v + 1000}[:r.IntN(3)]
				for _, v := range again {
					m.size[v] = r.IntN(100)
				}
				w.Return(again, func(v int) int { return m.size[v] })
				m.values = slices.Insert(m.values, 0, again...)
			case 3:
				first, there := w.Oldest()
				got, ok := w.TakeOldest()
				require.Equal(t, len(m.values) > 0, ok)
				require.Equal(t, there, ok)
				if ok {
					require.Equal(t, m.values[0], got)
					require.Equal(t, first, got)
					m.remove(got)
				}
			case 4:
				got, ok := w.TakeAny()
				require.Equal(t, len(m.values) > 0, ok)
				if ok {
					require.Contains(t, m.values, got)
					m.remove(got)
				}
			case 5:
				since := began.Add(time.Duration(v - r.IntN(20)))
				got, ok := w.TakeNewest(since)
				last := len(m.values) - 1
				require.Equal(t, last >= 0 && m.arrived[m.values[max(last, 0)]].After(since), ok)
				if ok {
					require.Equal(t, m.values[last], got)
					m.remove(got)
				}
			case 6:
				n := 1 + r.IntN(10)
				some := func(v int) bool { return v%10 < n }
				rest := slices.DeleteFunc(slices.Clone(m.values), some)
				m.values = slices.DeleteFunc(m.values, func(v int) bool { return !some(v) })
				require.Equal(t, m.values, append([]int{}, w.TakeIf(some)...))
				m.values = rest
			}
			require.Equal(t, len(m.values), w.Len())
			require.Equal(t, m.bytes(), w.Bytes())
		}
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
