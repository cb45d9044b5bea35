package collector

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/footfall-dev/footfall/collector/store"
)

// draft is an event as it came in, with every field checked against the limits.
type draft struct {
	site     string // id or domain
	name     string // empty for a pageview
	url      string
	page     page // of url
	referrer string
	props    []store.Prop
}

// fields are the names of a body's members.
type fields struct{ site, name, url, props, referrer string }

var (
	apiFields     = fields{site: "site_id", name: "name", url: "url", props: "props"} // contract, section Event
	browserFields = fields{site: "s", name: "n", url: "u", props: "p", referrer: "r"} // t.src.js
)

// decode reads an event. It refuses members that are not in names, because an ignored
// member, such as a misspelt "props", would be lost without notice.
func decode(body []byte, names *fields) (d draft, f *failure) {
	if !utf8.Valid(body) {
		return d, invalid("body", "is not valid UTF-8")
	}
	r := reader{scanner: scanner{data: body}, names: names, into: &d}
	if f := r.object("body", r.member); f != nil {
		return d, f
	}
	if !r.end() {
		return d, invalid("body", "has data after the event")
	}
	return d, r.missing()
}

// reader fills a draft.
type reader struct {
	scanner
	names *fields
	into  *draft
	seen  [5]bool
}

// member reads one member of the event.
func (r *reader) member(name []byte) *failure {
	n, d := r.names, r.into
	switch string(name) {
	case n.site:
		return r.field(0, n.site, &d.site, nil)
	case n.name:
		return r.field(1, n.name, &d.name, checkName)
	case n.url:
		return r.field(2, n.url, &d.url, d.checkURL)
	case n.props:
		return r.readProps()
	case n.referrer:
		if n.referrer != "" {
			return r.field(4, n.referrer, &d.referrer, nil)
		}
	}
	return invalid("body", "has an unknown field: "+quoted(string(name)))
}

// once refuses a member whose name came before.
func (r *reader) once(i int, name string) *failure {
	if r.seen[i] {
		return invalid(name, "appears twice")
	}
	r.seen[i] = true
	return nil
}

func (r *reader) field(i int, name string, into *string, check func(string) string) *failure {
	if f := r.once(i, name); f != nil {
		return f
	}
	text, reason := r.text()
	if reason != "" {
		return r.refuse(name, reason)
	}
	if *into = string(text); check != nil {
		reason = check(*into)
	}
	if reason != "" {
		return invalid(name, reason)
	}
	return nil
}

// missing refuses an event without a required field. A pageview has no name.
func (r *reader) missing() *failure {
	switch n := r.names; {
	case !r.seen[0]:
		return invalid(n.site, "is missing")
	case r.into.site == "":
		return invalid(n.site, "is empty")
	case !r.seen[1] && n == &apiFields:
		return invalid(n.name, "is missing")
	case !r.seen[2]:
		return invalid(n.url, "is missing")
	}
	return nil
}

func checkName(name string) string {
	switch {
	case isBlank(name):
		return "is empty"
	case utf8.RuneCountInString(name) > store.MaxName:
		return fmt.Sprintf("is longer than %d characters", store.MaxName)
	}
	return ""
}

// isBlank reports whether name is empty or white space.
func isBlank(name string) bool { return strings.TrimSpace(name) == "" }

func (d *draft) checkURL(raw string) (reason string) {
	d.page, reason = parsePage(raw)
	return reason
}

// readProps accepts null for no props: some encoders write an empty map as null.
func (r *reader) readProps() *failure {
	what := r.names.props
	if f := r.once(3, what); f != nil {
		return f
	}
	if r.null() {
		return nil
	}
	return r.object(what, func(name []byte) *failure { return r.prop(what, string(name)) })
}

func (r *reader) prop(what, key string) *failure {
	props := r.into.props
	if len(props) == store.MaxProps {
		return invalid(what, fmt.Sprintf("has more than %d entries", store.MaxProps))
	}
	field := func() string { return what + "[" + quoted(key) + "]" }
	switch {
	case key == "":
		return invalid(field(), "has an empty key")
	case len(key) > store.MaxPropKey:
		return invalid(field(), fmt.Sprintf("has a key longer than %d bytes", store.MaxPropKey))
	}
	for i := range props {
		if props[i].Key == key {
			return invalid(field(), "appears twice")
		}
	}
	value, numeric, reason := r.value()
	if reason == "" && len(value) > store.MaxPropText {
		reason = fmt.Sprintf("is longer than %d bytes", store.MaxPropText)
	}
	if reason != "" {
		return r.refuse(field(), reason)
	}
	r.into.props = append(props, store.Prop{Key: key, Value: string(value), Numeric: numeric})
	return nil
}

// value reads the value of a prop, a string or a number.
func (r *reader) value() (text []byte, numeric bool, reason string) {
	switch b := r.peek(); {
	case b == '"':
		text, reason = r.text()
		return text, false, reason
	case b == '-' || b >= '0' && b <= '9':
		text, reason = r.number()
		return text, true, reason
	case r.pos == len(r.data):
		return nil, false, notJSON
	}
	return nil, false, "must be a string or a number"
}
