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

// errForm is returned for a request that is no form.
var errForm = errors.New("dashboard: not a form")

// form is what was typed, and what is wrong with it. The zero form is an empty one.
type form struct {
	url.Values
	Errors map[string]string // by field
}

// readForm returns what the request's body holds. Fields of the address do not count.
func readForm(r *http.Request) (form, error) {
	if err := r.ParseForm(); err != nil {
		return form{}, fmt.Errorf("%w: %w", errForm, err)
	}
	return form{Values: r.PostForm}, nil
}

// refused reports whether err is about a field of the form, and takes it down.
func (f *form) refused(err error) bool {
	wrong, ok := errors.AsType[*account.FieldError](err)
	if ok {
		f.Errors = map[string]string{wrong.Field: wrong.Reason}
	}
	return ok
}

// field is one input with its label.
type field struct {
	form
	Name, Label, Hint string
	Type              string
}

func newField(f form, name, label, kind, hint string) field {
	return field{form: f, Name: name, Label: label, Type: kind, Hint: hint}
}

// Value is what was typed, but for passwords.
func (f field) Value() string {
	if f.Type == "password" {
		return ""
	}
	return f.Get(f.Name)
}

// Problem is a sentence about what is wrong with it, or "".
func (f field) Problem() string {
	reason := f.Errors[f.Name]
	if reason == "" {
		return ""
	}
	return f.Label + " " + strings.TrimRight(reason, ".") + "."
}

// matchField is the inputs that make up a store.Match, the n-th of the form.
type matchField struct {
	form
	N int
}

func newMatchField(f form, n int) matchField { return matchField{f, n} }

// Name is that of an input: what, text, key or value.
func (m matchField) Name(part string) string { return part + strconv.Itoa(m.N) }

// Value is what was typed.
func (m matchField) Value(part string) string { return m.Get(m.Name(part)) }

// IsEvent reports whether the text is the name of an event, not a page.
func (m matchField) IsEvent() bool { return m.Value("what") == "event" }

// Empty reports whether nothing was typed.
func (m matchField) Empty() bool {
	return strings.TrimSpace(m.Value("text")+m.Value("key")+m.Value("value")) == ""
}

// match returns what was typed.
func (m matchField) match() store.Match {
	match := store.Match{PropKey: m.Value("key"), PropValue: m.Value("value")}
	if m.IsEvent() {
		match.Event = m.Value("text")
	} else {
		match.Page = m.Value("text")
	}
	return match
}

// fill is the reverse of match.
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
