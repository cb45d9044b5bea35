// Package event reads the events that backends and browsers send, checks every field, and
// derives what figures count by: the host, the path, the campaign and the referrer.
package event

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/footfall-dev/footfall/collector/store"
)

// Draft is an event as it was sent, with every field checked against the limits.
type Draft struct {
	Site     string // ID or domain
	Name     string // empty for a pageview
	URL      string
	Page     Page // of URL
	Referrer string
	Props    []store.Prop
	Sequence Sequence
}

// Invalid is the reason why a field, or the body, is refused.
type Invalid struct{ Field, Reason string }

// Fields are the names of a body's members.
type Fields struct{ Site, Name, URL, Props, Referrer, Sequence string }

// The names that backends and browsers use.
var (
	API     = Fields{Site: "site_id", Name: "name", URL: "url", Props: "props"}                // contract, section Event
	Browser = Fields{Site: "s", Name: "n", URL: "u", Props: "p", Referrer: "r", Sequence: "q"} // t.src.js
)

// Decode reads an event. It refuses members that are not in names, because an ignored
// member, such as a misspelt "props", would be lost without notice. The draft shares no memory
// with body.
func Decode(body []byte, names *Fields) (d Draft, bad *Invalid) {
	if !utf8.Valid(body) {
		return d, &Invalid{"body", "is not valid UTF-8"}
	}
	r := reader{scanner: scanner{data: body}, names: names, into: &d}
	if bad := r.object("body", r.member); bad != nil {
		return d, bad
	}
	if !r.end() {
		return d, &Invalid{"body", "has data after the event"}
	}
	return d, r.missing()
}

// Event returns the event to store, with the derived fields that figures count by. domain is
// the site's.
func (d *Draft) Event(site, domain string, at time.Time) store.Event {
	e := store.Event{
		Site:     site,
		At:       at.UTC().Truncate(time.Millisecond),
		Name:     d.Name,
		URL:      d.URL,
		Path:     d.Page.countedPath(),
		Referrer: referrerHost(d.Referrer, domain),
		Props:    d.Props,
	}
	e.Source, e.Medium, e.Campaign = d.Page.campaign()
	return e
}

// reader fills a draft.
type reader struct {
	scanner
	names *Fields
	into  *Draft
	seen  [6]bool
}

// member reads one member of the event.
func (r *reader) member(name []byte) *Invalid {
	n, d := r.names, r.into
	switch string(name) {
	case n.Site:
		return r.field(0, n.Site, &d.Site, nil)
	case n.Name:
		return r.field(1, n.Name, &d.Name, checkName)
	case n.URL:
		return r.field(2, n.URL, &d.URL, d.checkURL)
	case n.Props:
		return r.readProps()
	case n.Referrer:
		if n.Referrer != "" {
			return r.field(4, n.Referrer, &d.Referrer, nil)
		}
	}
	if n.Sequence != "" && string(name) == n.Sequence {
		var text string
		return r.field(5, n.Sequence, &text, d.Sequence.parse)
	}
	return &Invalid{"body", "has an unknown field: " + Quote(string(name))}
}

// once refuses a member whose name came before.
func (r *reader) once(i int, name string) *Invalid {
	if r.seen[i] {
		return &Invalid{name, "appears twice"}
	}
	r.seen[i] = true
	return nil
}

func (r *reader) field(i int, name string, into *string, check func(string) string) *Invalid {
	if bad := r.once(i, name); bad != nil {
		return bad
	}
	text, reason := r.text()
	if reason != "" {
		return r.refuse(name, reason)
	}
	if *into = string(text); check != nil {
		reason = check(*into)
	}
	if reason != "" {
		return &Invalid{name, reason}
	}
	return nil
}

// missing refuses an event without a required field. A pageview has no name.
func (r *reader) missing() *Invalid {
	switch n := r.names; {
	case !r.seen[0]:
		return &Invalid{n.Site, "is missing"}
	case r.into.Site == "":
		return &Invalid{n.Site, "is empty"}
	case !r.seen[1] && n == &API:
		return &Invalid{n.Name, "is missing"}
	case !r.seen[2]:
		return &Invalid{n.URL, "is missing"}
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

func (d *Draft) checkURL(raw string) (reason string) {
	d.Page, reason = ParsePage(raw)
	return reason
}

// readProps refuses null: an event without props leaves them out (contract, section Event).
func (r *reader) readProps() *Invalid {
	what := r.names.Props
	if bad := r.once(3, what); bad != nil {
		return bad
	}
	return r.object(what, func(name []byte) *Invalid { return r.prop(what, string(name)) })
}

func (r *reader) prop(what, key string) *Invalid {
	props := r.into.Props
	if len(props) == store.MaxProps {
		return &Invalid{what, fmt.Sprintf("has more than %d entries", store.MaxProps)}
	}
	field := func() string { return what + "[" + Quote(key) + "]" }
	switch {
	case key == "":
		return &Invalid{field(), "has an empty key"}
	case len(key) > store.MaxPropKey:
		return &Invalid{field(), fmt.Sprintf("has a key longer than %d bytes", store.MaxPropKey)}
	}
	for i := range props {
		if props[i].Key == key {
			return &Invalid{field(), "appears twice"}
		}
	}
	value, numeric, reason := r.value()
	if reason == "" && len(value) > store.MaxPropText {
		reason = fmt.Sprintf("is longer than %d bytes", store.MaxPropText)
	}
	if reason != "" {
		return r.refuse(field(), reason)
	}
	r.into.Props = append(props, store.Prop{Key: key, Value: string(value), Numeric: numeric})
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
