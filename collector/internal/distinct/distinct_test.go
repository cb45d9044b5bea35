package distinct

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/store"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// sent limits an event with these keys and values, and returns its props.
func sent(p *Props, name string, visitor uint64, at time.Time, keysAndValues ...string) []store.Prop {
	e := store.Event{Site: "s", At: at, Name: name, Visitor: visitor}
	for i := 0; i < len(keysAndValues); i += 2 {
		e.Props = append(e.Props, store.Prop{Key: keysAndValues[i], Value: keysAndValues[i+1]})
	}
	p.Limit(&e)
	return e.Props
}

var other = store.Prop{Key: store.Other, Value: store.Other}

func TestNewKeysBeyondTheBoundAreOneProp(t *testing.T) {
	t.Parallel()
	p := New()
	for i := range MaxKeys {
		want := []store.Prop{{Key: fmt.Sprint(i), Value: "v"}}
		require.Equal(t, want, sent(p, "paid", 1, noon, fmt.Sprint(i), "v"))
	}
	assert.Equal(t, []store.Prop{{Key: "7", Value: "new"}, other}, sent(p, "paid", 1, noon, "a", "1", "7", "new", "b", "2"), "a known key takes new values")
	assert.Equal(t, []store.Prop{{Key: "a", Value: "1"}}, sent(p, "signup", 1, noon, "a", "1"), "another name")
	assert.Equal(t, []store.Prop{{Key: "a", Value: "1"}}, sent(p, "paid", 0, noon, "a", "1"), "a backend")
	assert.Equal(t, []store.Prop{{Key: "a", Value: "1"}}, sent(p, "paid", 1, noon.AddDate(0, 0, 1), "a", "1"), "another day")
}

func TestNewValuesBeyondTheBoundAreOneValue(t *testing.T) {
	t.Parallel()
	p := New()
	for i := range MaxValues {
		require.Equal(t, fmt.Sprint(i), sent(p, "paid", 1, noon, "id", fmt.Sprint(i))[0].Value)
	}
	for range 3 {
		assert.Equal(t, []store.Prop{{Key: "id", Value: store.Other}, {Key: "plan", Value: "pro"}}, sent(p, "paid", 1, noon, "id", "new", "plan", "pro"))
	}
	assert.Equal(t, "17", sent(p, "paid", 1, noon, "id", "17")[0].Value, "a known value")
	assert.Equal(t, "new", sent(p, "paid", 0, noon, "id", "new")[0].Value, "a backend")
}

func TestTheFirstReplacementOfADayIsReported(t *testing.T) {
	t.Parallel()
	p := New()
	limit := func(at time.Time) (int, bool) {
		e := store.Event{Site: "s", At: at, Props: []store.Prop{{Key: "a", Value: strings.Repeat("x", MaxBytes)}, {Key: "b", Value: "1"}}}
		return p.Limit(&e)
	}
	for day := range 2 {
		for i := range 3 {
			replaced, first := limit(noon.AddDate(0, 0, day))
			assert.Equal(t, 1, replaced)
			assert.Equal(t, i == 0, first)
		}
	}
	e := store.Event{Site: "s", At: noon.AddDate(0, 0, 1)}
	replaced, first := p.Limit(&e)
	assert.Zero(t, replaced)
	assert.False(t, first)
}

func TestAPropThatIsCalledOtherStaysOneProp(t *testing.T) {
	t.Parallel()
	p := New()
	for i := range MaxKeys - 1 {
		sent(p, "paid", 1, noon, fmt.Sprint(i), "v")
	}
	assert.Equal(t, []store.Prop{{Key: store.Other, Value: "mine"}}, sent(p, "paid", 1, noon, store.Other, "mine", "new", "v"))
}

// Whatever is sent, with whatever names, memory and the distinct props of a day stay bounded.
func TestMemoryIsBounded(t *testing.T) {
	p := New()
	distinct := make(map[store.Prop]bool)
	before := heap()
	for i := range 300_000 {
		for _, prop := range sent(p, fmt.Sprint(i%5000), 1, noon, fmt.Sprint("key", i), fmt.Sprint("value", i)) {
			if prop != other {
				distinct[prop] = true
			}
		}
	}
	assert.LessOrEqual(t, len(distinct), MaxBytes/Overhead)
	distinct = nil
	assert.Less(t, heap()-before, 4<<20)
	p.Prune(func(string) bool { return false })
	assert.Less(t, heap()-before, 1<<20)
	runtime.KeepAlive(p)
}

func heap() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

func TestPropsThatAreStoredCountAfterARestart(t *testing.T) {
	t.Parallel()
	p := New()
	for i := range MaxKeys {
		p.Add("s", noon, "paid", true, store.Prop{Key: fmt.Sprint(i), Value: "v"})
	}
	assert.Equal(t, []store.Prop{other}, sent(p, "paid", 1, noon, "new", "v"))
	assert.Equal(t, []store.Prop{{Key: "3", Value: "v"}}, sent(p, "paid", 1, noon, "3", "v"))
}

func BenchmarkLimit(b *testing.B) {
	p := New()
	e := store.Event{Site: "s", At: noon, Name: "paid", Props: []store.Prop{{Key: "plan", Value: "pro"}, {Key: "amount", Value: "4999", Numeric: true}, {Key: "currency", Value: "eur"}}}
	b.ReportAllocs()
	for b.Loop() {
		p.Limit(&e)
	}
}
