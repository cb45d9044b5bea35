package footfall

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/footfall-dev/footfall/internal/pii"
)

// Event is one custom event of a site (contract, section Event).
type Event struct {
	// SiteID is the id of a site of the account. Empty means the site of the context
	// ([WithSite]), else Config.SiteID.
	SiteID string

	// Name is shown in the dashboard exactly as given. Short, descriptive,
	// lower case with underscores is recommended.
	Name string

	// URL is where the event occurred: absolute, http or https. It is sent
	// exactly as given. Empty means the page of the context (middleware or
	// WithURL), else Config.DefaultURL.
	URL string

	// Props are custom key-value pairs. If two have the same key, the last one wins.
	Props []Prop

	// ID says which event this is, such as the id of a webhook's delivery or of a job: the Idempotency-Key of
	// every attempt. The service counts events with the same ID once, as long as it remembers the ID (see
	// docs/delivery.md). At most 255 bytes of printable ASCII, without a space at either end. Empty means that
	// Track makes an [EventID].
	ID string
}

// EventID is the id that Track gives to an event: a UUIDv7 (RFC 9562). It begins with the time of the
// call, 48 bits of milliseconds since 1970, so ids sort by time, as bytes and as text. Every attempt to
// deliver the event sends the id as its Idempotency-Key, from any process and any transport, unless
// [Event.ID] is set. An API that remembers the key counts the event once.
//
// The UUID types of other packages are arrays of 16 bytes, too, so that a conversion suffices, such as
// uuid.UUID(id) with github.com/google/uuid.
type EventID [16]byte

// String returns the id in the form of the Idempotency-Key: 32 lower-case hexadecimal digits with four
// hyphens, such as "01939f6e-2a7c-7d3f-8a4b-5c6d7e8f9a0b".
func (id EventID) String() string { return uuid.UUID(id).String() }

// MarshalText returns the id as String does. JSON, such as the lines of [slog.JSONHandler], has the id
// in this form.
func (id EventID) MarshalText() ([]byte, error) { return uuid.UUID(id).MarshalText() }

// Limits bounds the fields of an event. Track refuses an event beyond them, with the name of the
// field, because the API would refuse it. The contract names no limits (section Limits): the
// defaults are the limits of this project's collector. Set other limits for a service that has
// others. [Config.MaxEventBytes] bounds the whole event and so every field, too; a limit of a text may
// not exceed it, unless it is the default.
type Limits struct {
	// Name bounds the name, in characters. At least 20, because the middleware cuts longer
	// automatic names and adds a hash. Defaults to 120.
	Name int

	// URL bounds the URL, in bytes. At least 512, because the middleware cuts longer URLs of
	// requests behind the host. It cuts at 2,048 bytes at the latest. Defaults to 2,048.
	URL int

	// Props bounds the number of props. Defaults to 100.
	Props int

	// PropKey bounds the key of a prop, in bytes. Defaults to 300.
	PropKey int

	// PropText bounds the text of a prop, in bytes. Values of [Rule.PathProps] are cut to it. At
	// least 10, the length of "[redacted]". Defaults to 2,000.
	PropText int
}

func (l Limits) withDefaults() Limits {
	return Limits{
		Name:     cmp.Or(l.Name, 120),
		URL:      cmp.Or(l.URL, maxPageURL),
		Props:    cmp.Or(l.Props, 100),
		PropKey:  cmp.Or(l.PropKey, 300),
		PropText: cmp.Or(l.PropText, 2000),
	}
}

// CheckEvent returns the error of Track when it refuses e under the limits l and the default of
// Config.MaxEventBytes, a [*FieldError], or nil. It is for code that checks what it will track before there is
// a tracker. An empty SiteID or URL is no error. Zero fields of l mean the defaults.
func (l Limits) CheckEvent(e Event) error {
	strict := newEncoder("s", "https://example.com/", defaultEventBytes, l.withDefaults(), pii.New(false, nil))
	d := draft{siteID: e.SiteID, name: e.Name, url: e.URL, props: e.Props, id: e.ID}
	_, _, err := strict.append(nil, &d)
	return err
}

// check reports limits that are smaller than the library itself needs, and limits of texts that no event
// of maxEvent bytes can reach.
func (l Limits) check(maxEvent int, report func(field, reason string)) {
	atLeast := func(field string, n, least int) {
		if n < least {
			report("Limits."+field, fmt.Sprintf("%d is less than %d", n, least))
		}
	}
	inEvent := func(field string, n, byDefault int) {
		if n > maxEvent && n != byDefault && maxEvent >= leastEventBytes {
			report("Limits."+field, fmt.Sprintf("%d is more than MaxEventBytes, which is %s", n, valueOf(maxEvent, defaultEventBytes)))
		}
	}
	defaults := Limits{}.withDefaults()
	atLeast("Name", l.Name, 20)
	atLeast("URL", l.URL, 512)
	atLeast("Props", l.Props, 1)
	atLeast("PropKey", l.PropKey, 1)
	atLeast("PropText", l.PropText, 10)
	inEvent("Name", l.Name, defaults.Name)
	inEvent("URL", l.URL, defaults.URL)
	inEvent("PropKey", l.PropKey, defaults.PropKey)
	inEvent("PropText", l.PropText, defaults.PropText)
}

// within returns the limits of an event of at most n bytes. A longer field need not be read.
func (l Limits) within(n int) Limits {
	l.Name, l.URL, l.PropKey, l.PropText = min(l.Name, n), min(l.URL, n), min(l.PropKey, n), min(l.PropText, n)
	return l
}

// Value is the type of a prop's value: the contract allows a string or a number.
type Value interface {
	~string | ~int | ~int8 | ~int16 | ~int32 | ~int64 |
		~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64
}

type propKind uint8

const (
	kindString propKind = iota
	kindInt
	kindUint
	kindFloat64
	kindFloat32
	kindInvalid // key is the field of a FieldError, str its reason
)

// Prop is one key-value pair of an event, made by [P], [PropsFromMap] or [InvalidProp]. It holds its value
// without a pointer, so that making one does not allocate.
type Prop struct {
	key  string
	str  string
	num  uint64
	kind propKind
}

// P makes a Prop. A value that is neither a string nor a number does not compile. Track refuses
// NaN and infinities, which JSON cannot represent.
func P[V Value](key string, value V) Prop {
	switch v := any(value).(type) { // a switch of one case is small enough to be inlined
	case string:
		return Prop{key: key, str: v}
	}
	return numberProp(key, value)
}

func numberProp(key string, value any) Prop {
	switch v := value.(type) {
	case int:
		return Prop{key: key, num: uint64(v), kind: kindInt}
	case float64:
		return Prop{key: key, num: math.Float64bits(v), kind: kindFloat64}
	default:
		p, _ := propOf(key, reflect.ValueOf(value)) // every Value is a string or a number
		return p
	}
}

// InvalidProp makes a Prop whose event Track refuses, with a [*FieldError] of field and reason. It is for code
// that makes props of other data and returns no error, such as package event: whichever Track takes the props
// returns the error, counts it as Invalid and logs it. [Prop.Key] is field, and [Prop.Value] is reason.
func InvalidProp(field, reason string) Prop {
	return Prop{key: field, str: reason, kind: kindInvalid}
}

// invalid returns the error of the first prop that InvalidProp has made, or nil.
func invalid(props []Prop) error {
	for i := range props {
		if props[i].kind == kindInvalid {
			return &FieldError{props[i].key, props[i].str}
		}
	}
	return nil
}

// Key returns the prop's key.
func (p Prop) Key() string { return p.key }

// Value returns the prop's value: a string, int64, uint64, float64 or float32.
func (p Prop) Value() any {
	switch p.kind {
	case kindInt:
		return int64(p.num)
	case kindUint:
		return p.num
	case kindFloat64:
		return math.Float64frombits(p.num)
	case kindFloat32:
		return float32(math.Float64frombits(p.num))
	default:
		return p.str
	}
}

// propOf makes a Prop of a value whose kind is known only at run time.
func propOf(key string, v reflect.Value) (Prop, bool) {
	switch {
	case v.Kind() == reflect.String:
		return Prop{key: key, str: v.String(), kind: kindString}, true
	case v.CanInt():
		return Prop{key: key, num: uint64(v.Int()), kind: kindInt}, true
	case v.CanUint() && v.Kind() != reflect.Uintptr:
		return Prop{key: key, num: v.Uint(), kind: kindUint}, true
	case v.Kind() == reflect.Float32:
		return Prop{key: key, num: math.Float64bits(v.Float()), kind: kindFloat32}, true
	case v.CanFloat():
		return Prop{key: key, num: math.Float64bits(v.Float()), kind: kindFloat64}, true
	}
	return Prop{}, false
}

// PropsFromMap converts dynamic data to props, sorted by key. A value may be a string, a number
// or a json.Number. If there are other values, PropsFromMap returns an error that joins a
// [*FieldError] for each, and no props.
func PropsFromMap(m map[string]any) ([]Prop, error) {
	props := make([]Prop, 0, len(m))
	var problems []error
	for _, key := range slices.Sorted(maps.Keys(m)) {
		p, err := propFromAny(key, m[key])
		if err != nil {
			problems = append(problems, err)
			continue
		}
		props = append(props, p)
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return props, nil
}

func propFromAny(key string, value any) (Prop, error) {
	if n, ok := value.(json.Number); ok {
		return propFromNumber(key, string(n))
	}
	p, ok := propOf(key, reflect.ValueOf(value))
	if !ok {
		return Prop{}, propError(key, fmt.Sprintf("a %T is neither a string nor a number", value))
	}
	return p, nil
}

// propFromNumber keeps integers exact; a float64 would round them above 2^53.
func propFromNumber(key, number string) (Prop, error) {
	if i, err := strconv.ParseInt(number, 10, 64); err == nil {
		return P(key, i), nil
	}
	if u, err := strconv.ParseUint(number, 10, 64); err == nil {
		return P(key, u), nil
	}
	f, err := strconv.ParseFloat(number, 64)
	if err != nil || !strings.ContainsAny(number, ".eE") {
		return Prop{}, propError(key, "a number that fits neither 64 bits nor a float64")
	}
	return P(key, f), nil
}

// propError names a prop by its key, bounded and quoted: keys are the caller's data.
func propError(key, reason string) error {
	const maxShown = 64
	if len(key) > maxShown {
		key = key[:maxShown] + "…"
	}
	return &FieldError{Field: "props[" + strconv.Quote(key) + "]", Reason: reason}
}
