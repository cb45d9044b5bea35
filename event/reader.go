package event

import (
	"reflect"

	"github.com/footfall-dev/footfall"
)

// reader reads a field of a value.
type reader struct {
	key       string
	at        any           // a *string, *int, *int64 or *float64 to the field, or nil
	of        reflect.Value // the field
	pointer   bool
	omitEmpty bool
}

// direct has the types of pointers to the kinds that a reader reads without reflection, which takes longer.
var direct = map[reflect.Kind]reflect.Type{
	reflect.String:  reflect.TypeFor[*string](),
	reflect.Int:     reflect.TypeFor[*int](),
	reflect.Int64:   reflect.TypeFor[*int64](),
	reflect.Float64: reflect.TypeFor[*float64](),
}

func newReader(f *field, of reflect.Value) reader {
	r := reader{key: f.key, of: of, pointer: f.pointer, omitEmpty: f.omitEmpty}
	if t := direct[of.Kind()]; t != nil {
		r.at = of.Addr().Convert(t).Interface()
	}
	return r
}

// read appends the props of fields, as footfall.P makes them, to props, which has room for all.
func read(props []footfall.Prop, fields []reader) []footfall.Prop {
	n := 0
	props = props[:len(fields)]
	for i := range fields {
		r, p := &fields[i], &props[n]
		switch at := r.at.(type) {
		case *string:
			if *at == "" && r.omitEmpty {
				continue
			}
			*p = footfall.P(r.key, *at)
		case *int:
			if *at == 0 && r.omitEmpty {
				continue
			}
			*p = footfall.P(r.key, *at)
		case *float64:
			if *at == 0 && r.omitEmpty {
				continue
			}
			*p = footfall.P(r.key, *at)
		case *int64:
			if *at == 0 && r.omitEmpty {
				continue
			}
			*p = integer(r.key, *at)
		default:
			if r.isLeftOut() {
				continue
			}
			*p = r.prop()
		}
		n++
	}
	return props[:n]
}

// isLeftOut reports whether an event has no prop for the field now.
func (r *reader) isLeftOut() bool {
	if r.pointer {
		return r.of.IsNil()
	}
	return r.omitEmpty && r.of.IsZero()
}

// prop returns the prop of a field of any type.
func (r *reader) prop() footfall.Prop {
	v := r.of
	if r.pointer {
		v = v.Elem()
	}
	switch {
	case v.Kind() == reflect.String:
		return footfall.P(r.key, v.String())
	case v.Kind() == reflect.Float32:
		return footfall.P(r.key, float32(v.Float()))
	case v.CanFloat():
		return footfall.P(r.key, v.Float())
	case v.CanUint():
		return footfall.P(r.key, v.Uint())
	}
	return integer(r.key, v.Int())
}

// integer is footfall.P, which makes the same prop of an int in less time.
func integer(key string, n int64) footfall.Prop {
	if int64(int(n)) == n {
		return footfall.P(key, int(n))
	}
	return footfall.P(key, n)
}
