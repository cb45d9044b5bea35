package dashboard

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/footfall-dev/footfall/collector/account"
	"github.com/footfall-dev/footfall/collector/store"
)

// errForm is returned for a request without a valid form.
var errForm = errors.New("dashboard: not a form")

// form holds the typed values and their errors. The zero form is empty.
type form struct {
	url.Values
	Errors map[string]string // by field
}

// readForm reads the form in the request's body. It ignores query parameters.
func readForm(r *http.Request) (form, error) {
	if err := r.ParseForm(); err != nil {
		return form{}, fmt.Errorf("%w: %w", errForm, err)
	}
	return form{Values: r.PostForm}, nil
}

// refused reports whether err concerns a field of the form, and stores it there.
func (f *form) refused(err error) bool {
	wrong, ok := errors.AsType[*account.FieldError](err)
	if ok {
		f.Errors = map[string]string{wrong.Field: wrong.Reason}
	}
	return ok
}

// field is an input with its label.
type field struct {
	form
	Name, Label, Hint string
	Type              string
}

func newField(f form, name, label, kind, hint string) field {
	return field{form: f, Name: name, Label: label, Type: kind, Hint: hint}
}

// Value returns the typed text, except for passwords.
func (f field) Value() string {
	if f.Type == "password" {
		return ""
	}
	return f.Get(f.Name)
}

// Problem returns a sentence about the field's error, or "".
func (f field) Problem() string {
	reason := f.Errors[f.Name]
	if reason == "" {
		return ""
	}
	return f.Label + " " + strings.TrimRight(reason, ".") + "."
}

// matchField holds the inputs of the form's n-th store.Match.
type matchField struct {
	form
	N int
}

func newMatchField(f form, n int) matchField { return matchField{f, n} }

// Name returns the name of an input; part is what, text, key or value.
func (m matchField) Name(part string) string { return part + strconv.Itoa(m.N) }

// Value returns the typed text.
func (m matchField) Value(part string) string { return m.Get(m.Name(part)) }

// IsEvent reports whether the text is an event's name and not a page.
func (m matchField) IsEvent() bool { return m.Value("what") == "event" }

// Empty reports whether all inputs are empty.
func (m matchField) Empty() bool {
	return strings.TrimSpace(m.Value("text")+m.Value("key")+m.Value("value")) == ""
}

// match returns the typed match.
func (m matchField) match() store.Match {
	match := store.Match{PropKey: m.Value("key"), PropValue: m.Value("value")}
	if m.IsEvent() {
		match.Event = m.Value("text")
	} else {
		match.Page = m.Value("text")
	}
	return match
}

// fill sets the inputs from match.
func (m matchField) fill(match store.Match) {
	what, text := "page", match.Page
	if match.Event != "" {
		what, text = "event", match.Event
	}
	m.Set(m.Name("what"), what)
	m.Set(m.Name("text"), text)
	m.Set(m.Name("key"), match.PropKey)
	m.Set(m.Name("value"), match.PropValue)
}
