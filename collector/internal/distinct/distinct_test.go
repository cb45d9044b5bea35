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
func sent(p *Limits, name string, visitor uint64, at time.Time, keysAndValues ...string) []store.Prop {
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

func TestPropsOfBackendsHaveNoBounds(t *testing.T) {
	t.Parallel()
	p := New()
	for i := range 2 * MaxValues {
		key, value := fmt.Sprint("key", i), fmt.Sprint(i)
		require.Equal(t, []store.Prop{{Key: "order_id", Value: value}, {Key: key, Value: "v"}}, sent(p, "paid", 0, noon, "order_id", value, key, "v"))
	}
	assert.Empty(t, p.of, "they are not counted")
}

func TestTheFirstReplacementOfADayIsReported(t *testing.T) {
	t.Parallel()
	p := New()
	for day := range 2 {
		for i := range 3 {
			e := store.Event{Site: "s", Visitor: 1, At: noon.AddDate(0, 0, day), Props: []store.Prop{{Key: "a", Value: strings.Repeat("x", MaxBytes)}, {Key: "b", Value: "1"}}}
			assert.Equal(t, i == 0, p.Limit(&e))
			assert.Equal(t, []store.Prop{{Key: "b", Value: "1"}, other}, e.Props)
		}
	}
	e := store.Event{Site: "s", Visitor: 1, At: noon.AddDate(0, 0, 1)}
	assert.False(t, p.Limit(&e))
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
		text := fmt.Sprint("value", i)
		e := store.Event{Site: "s", At: noon, Name: fmt.Sprint(i % 900), Visitor: 1, Path: "/" + text, Referrer: text, Source: text, Medium: text, Campaign: text}
		e.Props = []store.Prop{{Key: "n", Value: fmt.Sprint(i), Numeric: true}, {Key: fmt.Sprint("key", i), Value: text}}
		p.Limit(&e)
		for _, prop := range e.Props {
			if prop != other {
				distinct[prop] = true
			}
		}
	}
	assert.LessOrEqual(t, len(distinct), MaxBytes/Overhead+MaxNumbers)
	distinct = nil
	assert.Less(t, heap()-before, 12<<20)
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
		p.AddProp("s", noon, "paid", store.Prop{Key: fmt.Sprint(i), Value: "v"})
	}
	assert.Equal(t, []store.Prop{other}, sent(p, "paid", 1, noon, "new", "v"))
	assert.Equal(t, []store.Prop{{Key: "3", Value: "v"}}, sent(p, "paid", 1, noon, "3", "v"))
}

func TestNewTextsBeyondTheBoundAreOneText(t *testing.T) {
	t.Parallel()
	for _, of := range texts {
		p := New()
		limited := func(visitor uint64, at time.Time, text string) (string, bool) {
			e := store.Event{Site: "s", At: at, Visitor: visitor}
			*of.Field.Of(&e) = text
			first := p.Limit(&e)
			return *of.Field.Of(&e), first
		}
		for i := range of.Most {
			got, _ := limited(1, noon, fmt.Sprint("/", i))
			require.Equal(t, fmt.Sprint("/", i), got, of.Field)
		}
		for i := range 3 {
			got, first := limited(1, noon, fmt.Sprint("/new", i))
			assert.Equal(t, of.Other, got, of.Field)
			assert.Equal(t, i == 0, first)
		}
		for _, known := range []string{"/7", ""} {
			got, _ := limited(1, noon, known)
			assert.Equal(t, known, got, of.Field)
		}
		got, _ := limited(0, noon, "/new")
		assert.Equal(t, "/new", got, "a backend")
		got, _ = limited(1, noon.AddDate(0, 0, 1), "/new")
		assert.Equal(t, "/new", got, "another day")
	}
}

func TestEachTextOfABrowserHasABound(t *testing.T) {
	t.Parallel()
	assert.Equal(t, map[store.Field]int{
		"path": MaxPages, "name": MaxNames, "referrer": MaxTexts, "source": MaxTexts, "medium": MaxTexts, "campaign": MaxTexts,
	}, Fields())
}

func TestTextsThatAreStoredCountAfterARestart(t *testing.T) {
	t.Parallel()
	p := New()
	for i := range MaxNames {
		p.AddText("s", noon, "name", fmt.Sprint(i))
	}
	p.AddText("s", noon, "browser", "Firefox")
	e := store.Event{Site: "s", At: noon, Visitor: 1, Name: "new"}
	p.Limit(&e)
	assert.Equal(t, store.Other, e.Name)
	e.Name = "3"
	p.Limit(&e)
	assert.Equal(t, "3", e.Name)
}

// Numbers of a key have room where texts have none, because sums need them.
func TestNumbersHaveABoundOfTheirOwn(t *testing.T) {
	t.Parallel()
	p := New()
	limited := func(key string, value int, numeric bool) string {
		e := store.Event{Site: "s", At: noon, Visitor: 1, Name: "paid", Props: []store.Prop{{Key: key, Value: fmt.Sprint(value), Numeric: numeric}}}
		p.Limit(&e)
		return e.Props[0].Value
	}
	limited("full", 0, false)
	for i := range MaxNumbers {
		require.Equal(t, fmt.Sprint(i), limited("ms", i, true))
	}
	assert.Equal(t, "200000", limited("ms", 200_000, true), "the first number of the key counts as its text")
	assert.Equal(t, store.Other, limited("ms", 200_001, true))
	assert.Equal(t, store.Other, limited("full", 200_001, true))
	assert.Equal(t, "17", limited("ms", 17, true))
	assert.Equal(t, "17", limited("full", 17, false), "a text")
}

func BenchmarkLimit(b *testing.B) {
	p := New()
	e := store.Event{Site: "s", At: noon, Name: "paid", Visitor: 1, Path: "/checkout", Referrer: "news.example", Source: "letter", Props: []store.Prop{{Key: "plan", Value: "pro"}, {Key: "amount", Value: "4999", Numeric: true}, {Key: "currency", Value: "eur"}}}
	b.ReportAllocs()
	for b.Loop() {
		p.Limit(&e)
	}
}
