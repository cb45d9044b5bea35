package event

import (
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/footfall-dev/footfall"
)

// field is a field of a struct that is a prop.
type field struct {
	key       string
	path      string // such as "Amount", or "Order.Amount" of the embedded struct Order
	index     []int
	kind      reflect.Kind // of what a pointer points to, if it is one
	pointer   bool
	omitEmpty bool
}

// isNumber reports whether the kind is one of the numbers that footfall.P takes.
func isNumber(k reflect.Kind) bool {
	return k >= reflect.Int && k <= reflect.Float64 && k != reflect.Uintptr
}

// nameOf returns the name of a type for errors and lists, such as "shop.OrderPlaced".
func nameOf(t reflect.Type) string {
	if t.Name() == "" && t.Kind() == reflect.Struct {
		return "struct" // its text is a line for each field
	}
	return t.String()
}

// parser finds the fields of a struct, and the mistakes of a definition.
type parser struct {
	where    string
	fields   []field
	mistakes []error // each a *footfall.FieldError
}

// mistake notes a mistake of a field, or of the whole definition if path is empty.
func (p *parser) mistake(path, reason string) {
	where := p.where
	if path != "" {
		where += "." + path
	}
	p.mistakes = append(p.mistakes, &footfall.FieldError{Field: where, Reason: reason})
}

// parse returns the fields of t that are props of the event name.
func (p *parser) parse(name string, t reflect.Type) []field {
	p.check("", footfall.Event{Name: name})
	if t.Kind() != reflect.Struct {
		p.mistake("", t.String()+" is no struct")
		return nil
	}
	p.walk(t, "", nil)
	p.check("", footfall.Event{Name: "n", Props: zeros(p.fields)})
	return p.fields
}

// check notes what the library has against an event.
func (p *parser) check(path string, e footfall.Event) (ok bool) {
	bad, refused := errors.AsType[*footfall.FieldError](footfall.Limits{}.CheckEvent(e))
	if refused {
		p.mistake(path, bad.Field+": "+bad.Reason)
	}
	return !refused
}

// zeros returns a prop for each field.
func zeros(fields []field) (props []footfall.Prop) {
	for i := range fields {
		props = append(props, footfall.P(fields[i].key, 0))
	}
	return props
}

// walk adds the fields of t, which is T or a struct that it embeds, at path and index.
func (p *parser) walk(t reflect.Type, path string, index []int) {
	for i := range t.NumField() {
		f := t.Field(i)
		tag, tagged := f.Tag.Lookup("prop")
		at, index := path+f.Name, append(slices.Clone(index), i)
		switch isStruct := f.Type.Kind() == reflect.Struct; {
		case tag == "-":
		case !tagged && f.Anonymous && isStruct:
			p.embed(f.Type, at, index)
		case !tagged && f.Anonymous && f.Type.Kind() == reflect.Pointer && f.Type.Elem().Kind() == reflect.Struct:
			p.mistake(at, "an embedded pointer: embed the struct itself, or leave it out with `prop:\"-\"`")
		case !tagged && !f.IsExported():
		case !tagged:
			p.mistake(at, "no tag: add the key of its prop, such as `prop:\""+strings.ToLower(f.Name)+"\"`, or leave it out with `prop:\"-\"`")
		case !f.IsExported():
			p.mistake(at, "not exported")
		default:
			p.add(f.Type, tag, at, index)
		}
	}
}

// embed adds the fields of an embedded struct.
func (p *parser) embed(t reflect.Type, path string, index []int) {
	fields, mistakes := len(p.fields), len(p.mistakes)
	p.walk(t, path+".", index)
	if len(p.fields) == fields && len(p.mistakes) == mistakes {
		p.mistake(path, "an embedded struct without props: leave it out with `prop:\"-\"`")
	}
}

// add adds a field with a tag, unless it has a mistake.
func (p *parser) add(t reflect.Type, tag, path string, index []int) {
	f := field{path: path, index: index, kind: t.Kind()}
	if t.Kind() == reflect.Pointer {
		f.pointer, f.kind = true, t.Elem().Kind()
	}
	key, option, more := strings.Cut(tag, ",")
	f.key, f.omitEmpty = key, option == "omitempty"
	twin := slices.IndexFunc(p.fields, func(g field) bool { return g.key == key })
	switch {
	case key == "-":
		p.mistake(path, "a tag with the key - has no options: `prop:\"-\"` leaves the field out")
	case more && !f.omitEmpty:
		p.mistake(path, "the tag has the option "+strconv.Quote(option)+": the only one is omitempty")
	case f.kind != reflect.String && !isNumber(f.kind):
		p.mistake(path, "a "+t.String()+" is neither a string nor a number, nor a pointer to one")
	case twin >= 0:
		p.mistake(path, "has the key of "+p.fields[twin].path)
	case p.check(path, footfall.Event{Name: "n", Props: zeros([]field{f})}):
		p.fields = append(p.fields, f)
	}
}
