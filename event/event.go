package event

import (
	"context"
	"errors"
	"reflect"
	"sync"

	"github.com/footfall-dev/footfall"
)

// Definition is an event whose props are the fields of T, made by [Define]. Its methods may be called from several
// goroutines at once.
type Definition[T any] struct {
	name   string
	fields []field
	err    error
	pool   sync.Pool // of *value[T]
}

// value is the pooled working memory of a call to Track. What reads the fields is made once for each value, so that
// a call allocates nothing.
type value[T any] struct {
	of      T
	readers []reader // of the fields of of
	props   []footfall.Prop
}

// Define defines the event name, whose props are the fields of T. The package documentation says which fields T
// may have. Call Define once for each event, in the declaration of a package variable: the list of definitions
// has it from then on, for the life of the program.
//
// Define does not fail, so that a mistake does not stop the program: [Definition.Err] returns the mistakes. A
// second definition of a name is one.
func Define[T any](name string) *Definition[T] {
	t := reflect.TypeFor[T]()
	p := parser{where: "Define[" + nameOf(t) + "]"}
	d := &Definition[T]{name: name, fields: p.parse(name, t)}
	d.pool.New = func() any { return newValue[T](d.fields) }
	p.register(Info{Name: name, Type: nameOf(t), Props: infoOf(d.fields)})
	d.err = errors.Join(p.mistakes...)
	return d
}

func newValue[T any](fields []field) *value[T] {
	s := &value[T]{readers: make([]reader, len(fields)), props: make([]footfall.Prop, 0, len(fields))}
	of := reflect.ValueOf(&s.of).Elem()
	for i := range fields {
		s.readers[i] = newReader(&fields[i], of.FieldByIndex(fields[i].index))
	}
	return s
}

// Name returns the name of the event.
func (d *Definition[T]) Name() string {
	if d == nil {
		return ""
	}
	return d.name
}

// Err returns nil, or an error that joins a [*footfall.FieldError] for each mistake of the definition.
func (d *Definition[T]) Err() error {
	if d == nil || d.pool.New == nil {
		return &footfall.FieldError{Field: "Definition[" + nameOf(reflect.TypeFor[T]()) + "]", Reason: "not made by event.Define"}
	}
	return d.err
}

// Track tracks v with the tracker of ctx, as the function [footfall.Track] does, and returns the errors of that
// function, or [Definition.Err]. It allocates nothing. It does not keep v, nor what pointers in v point to.
func (d *Definition[T]) Track(ctx context.Context, v T) error {
	if err := d.Err(); err != nil {
		_ = footfall.Track(ctx, d.Name(), refusal(err)) // counts and logs it
		return err
	}
	s := d.take(v)
	err := footfall.Track(ctx, d.name, s.props...)
	d.release(s)
	return err
}

// TrackWith is [Definition.Track] with an explicit tracker, as [footfall.Tracker.Track] is. The page and the site
// come from ctx. A nil or disabled tracker does nothing.
func (d *Definition[T]) TrackWith(ctx context.Context, tracker *footfall.Tracker, v T) error {
	if err := d.Err(); err != nil {
		_ = tracker.Track(ctx, d.Name(), refusal(err)) // counts and logs it
		return err
	}
	s := d.take(v)
	err := tracker.Track(ctx, d.name, s.props...)
	d.release(s)
	return err
}

// Props returns the props of v, for a Track that takes a name and props, such as the Track of an adapter. If the
// definition has a mistake, Props returns a prop that makes Track return the first one.
func (d *Definition[T]) Props(v T) []footfall.Prop {
	if err := d.Err(); err != nil {
		return []footfall.Prop{refusal(err)}
	}
	s := d.take(v)
	defer d.release(s)
	return append([]footfall.Prop(nil), s.props...)
}

// Event returns v as an event without a site, a URL and an ID, which the caller may set, for functions that take
// an Event. If the definition has a mistake, they return the first one.
func (d *Definition[T]) Event(v T) footfall.Event {
	return footfall.Event{Name: d.Name(), Props: d.Props(v)}
}

// refusal returns a prop for which Track refuses the event, because of the first mistake in err.
func refusal(err error) footfall.Prop {
	bad, _ := errors.AsType[*footfall.FieldError](err) // every mistake is one
	return footfall.InvalidProp(bad.Field, bad.Reason)
}

// take returns a value with the props of v.
func (d *Definition[T]) take(v T) *value[T] {
	s := d.pool.Get().(*value[T])
	s.of = v
	s.props = read(s.props, s.readers)
	return s
}

// release gives a value back. It keeps no text of the application alive.
func (d *Definition[T]) release(s *value[T]) {
	var zero T
	s.of = zero
	clear(s.props)
	s.props = s.props[:0]
	d.pool.Put(s)
}
