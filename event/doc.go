// Package event defines events as types, so that the compiler checks the props of each call to Track:
//
//	type OrderPlaced struct {
//		Amount   int    `prop:"amount"`
//		Currency string `prop:"currency"`
//		Coupon   string `prop:"coupon,omitempty"`
//	}
//
//	var orderPlaced = event.Define[OrderPlaced]("order_placed")
//
//	err := orderPlaced.Track(ctx, OrderPlaced{Amount: 4999, Currency: "EUR"})
//
// [Definition.Track] uses the tracker of ctx, and [Definition.TrackWith] an explicit one. Other functions that
// take an event, such as the Track of an adapter, [footfall.Tracker.TrackDurable] and the TrackEvent of an outbox, take
// [Definition.Name] and [Definition.Props], or [Definition.Event]:
//
//	err = footfallgin.Track(c, orderPlaced.Name(), orderPlaced.Props(v)...)
//	err = tracker.TrackDurable(ctx, orderPlaced.Event(v))
//	err = box.TrackEvent(ctx, tx, orderPlaced.Event(v))
//
// # Fields
//
// T is a struct. Each of its exported fields has a tag with the key of its prop, or the tag `prop:"-"`, which
// leaves the field out. An exported field without a tag is a mistake, although encoding/json takes the name of
// the field then: reports compare events by the keys of their props, so a new name of a Go field must not
// change a key, and a new field must not be sent only because it is there. Unexported fields without a tag are left out.
//
// The type of a field is one that [footfall.P] takes, which is a string or a number, or a pointer to one. The
// value is sent as P sends it; methods such as String and MarshalJSON are not called, so a [time.Duration] is a
// number of nanoseconds. With the option omitempty, an event has no prop for an empty string or a zero. The contract of
// the API has no null: a nil pointer leaves out its prop, and a pointer to zero is sent as zero, with omitempty too.
//
// The fields of an embedded struct are fields of T, such as props that several events share. Two fields with the same
// key are a mistake, also where encoding/json lets the outer one hide the other.
//
// # Mistakes
//
// [Define] neither panics nor logs. It checks the name, the keys and the number of props against the defaults of
// [footfall.Limits], the tags, and the types of the fields. [Definition.Err] returns each mistake, and so does
// every call to Track of the definition, which sends nothing and counts the event as Invalid. A test finds
// mistakes before that: the method OnlyDefined of package footfalltest reports them, and events that no
// definition and no rule has.
//
// Nothing else is enforced: the function [footfall.Track] still takes any name, and the tracker checks each event as
// before, with its own Limits.
//
// # The list of all events
//
// [All] returns the definitions of the program, and [WriteJSON] writes them for people who read the reports. A
// definition is in the list if its package is a part of the program, so call these functions in a test of
// package main, or in a command of the application. A test that compares the list with a file makes each change of
// an event part of a review.
package event
