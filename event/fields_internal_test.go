package event

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
)

type label string

// kinds has a value of each kind that is a prop, and what makes a prop of it.
var kinds = []struct {
	value any
	prop  func(key string, v any) footfall.Prop
}{
	{"text", func(k string, v any) footfall.Prop { return footfall.P(k, v.(string)) }},
	{label("l"), func(k string, v any) footfall.Prop { return footfall.P(k, v.(label)) }},
	{7, func(k string, v any) footfall.Prop { return footfall.P(k, v.(int)) }},
	{int8(-7), func(k string, v any) footfall.Prop { return footfall.P(k, v.(int8)) }},
	{int64(1) << 60, func(k string, v any) footfall.Prop { return footfall.P(k, v.(int64)) }},
	{time.Hour, func(k string, v any) footfall.Prop { return footfall.P(k, v.(time.Duration)) }},
	{uint16(9), func(k string, v any) footfall.Prop { return footfall.P(k, v.(uint16)) }},
	{uint64(1) << 63, func(k string, v any) footfall.Prop { return footfall.P(k, v.(uint64)) }},
	{float32(0.1), func(k string, v any) footfall.Prop { return footfall.P(k, v.(float32)) }},
	{0.1, func(k string, v any) footfall.Prop { return footfall.P(k, v.(float64)) }},
}

// randomStruct returns a struct type with random fields, a value of it, and the props that the value has.
func randomStruct(r *rand.Rand) (v reflect.Value, want []footfall.Prop) {
	var fields []reflect.StructField
	var fill []func(reflect.Value)
	for i := range r.IntN(12) {
		kind := kinds[r.IntN(len(kinds))]
		of, key := reflect.ValueOf(kind.value), fmt.Sprint("key_", i)
		set, pointer, option, skipped := r.IntN(3) > 0, r.IntN(4) == 0, "", r.IntN(8) == 0
		if r.IntN(2) == 0 {
			option = ",omitempty"
		}
		f := reflect.StructField{Name: fmt.Sprint("F", i), Type: of.Type(), Tag: reflect.StructTag(`prop:"` + key + option + `"`)}
		if pointer {
			f.Type = reflect.PointerTo(f.Type)
		}
		if skipped {
			f.Tag = `prop:"-"`
		}
		fields = append(fields, f)
		fill = append(fill, func(field reflect.Value) {
			switch at := reflect.New(of.Type()); {
			case !set && r.IntN(2) == 0 && pointer: // a pointer to zero
				field.Set(at)
			case set && pointer:
				at.Elem().Set(of)
				field.Set(at)
			case set:
				field.Set(of)
			}
			held := field
			if pointer && !field.IsNil() {
				held = field.Elem()
			}
			if !skipped && (set || !pointer && option == "" || pointer && !field.IsNil()) {
				want = append(want, kind.prop(key, held.Interface()))
			}
		})
	}
	v = reflect.New(reflect.StructOf(fields)).Elem()
	for i := range fill {
		fill[i](v.Field(i))
	}
	return v, want
}

func TestFieldsOfAnyStructBecomeThePropsOfP(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 2000 {
		v, want := randomStruct(r)
		p := parser{where: "Define"}
		fields := p.parse("name", v.Type())
		require.Empty(t, p.mistakes)
		var readers []reader
		for i := range fields {
			readers = append(readers, newReader(&fields[i], v.FieldByIndex(fields[i].index)))
		}
		got := read(make([]footfall.Prop, 0, len(fields)), readers)
		require.Equal(t, want, append([]footfall.Prop(nil), got...), "%v", v.Type())
	}
}

// mistakesOf returns the mistakes of a definition with a struct of fields.
func mistakesOf(fields ...reflect.StructField) []error {
	p := parser{where: "Define"}
	p.parse("name", reflect.StructOf(fields))
	return p.mistakes
}

func fieldsWithKeys(n int) (fields []reflect.StructField) {
	for i := range n {
		fields = append(fields, reflect.StructField{Name: fmt.Sprint("F", i), Type: reflect.TypeFor[int](), Tag: reflect.StructTag(fmt.Sprintf(`prop:"k%d"`, i))})
	}
	return fields
}

func TestLimitsOfPropsApplyToFields(t *testing.T) {
	t.Parallel()
	assert.Empty(t, mistakesOf(fieldsWithKeys(100)...))
	require.Len(t, mistakesOf(fieldsWithKeys(101)...), 1)
	assert.EqualError(t, mistakesOf(fieldsWithKeys(101)...)[0], "footfall: Define: props: 101 entries are more than 100 (Config.Limits.Props)")
	long := fieldsWithKeys(1)
	long[0].Tag = reflect.StructTag(`prop:"` + strings.Repeat("k", 300) + `"`)
	assert.Empty(t, mistakesOf(long...))
	long[0].Tag = reflect.StructTag(`prop:"` + strings.Repeat("k", 301) + `"`)
	require.Len(t, mistakesOf(long...), 1)
	assert.ErrorContains(t, mistakesOf(long...)[0], "longer than 300 bytes")
}

func TestATagWithBadSyntaxIsNoTag(t *testing.T) {
	t.Parallel()
	for _, tag := range []reflect.StructTag{`prop: "k"`, `prop:k`, `"k"`, `Prop:"k"`} {
		bad := fieldsWithKeys(1)
		bad[0].Tag = tag
		require.Len(t, mistakesOf(bad...), 1, tag)
		assert.ErrorContains(t, mistakesOf(bad...)[0], "Define.F0: no tag")
	}
}

// A pooled value would keep a customer's text in memory, and what its pointers point to.
func TestAValueThatIsGivenBackIsEmpty(t *testing.T) {
	t.Parallel()
	type texts struct {
		A string  `prop:"a"`
		B *string `prop:"b"`
		C string  `prop:"-"`
	}
	d := Define[texts](fmt.Sprint("given_back_", len(All())))
	require.NoError(t, d.Err())
	text := "text"
	s := d.take(texts{text, &text, text})
	require.Len(t, s.props, 2)
	d.release(s)
	assert.Zero(t, s.of)
	assert.Empty(t, s.props)
	assert.Equal(t, make([]footfall.Prop, 2), s.props[:2])
	assert.Zero(t, s.readers[0].of.Interface())
}
